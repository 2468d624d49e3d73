console.log(Object.getOwnPropertyNames(globalThis).sort().join(' '));
console.log(Object.keys(process).sort().join(' '), require('module').builtinModules.length);
