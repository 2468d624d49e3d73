process.emitWarning('not shown');
const deep = (n) => (n ? deep(n - 1) : new Error('short').stack);
console.log(deep(9), process.execArgv);
