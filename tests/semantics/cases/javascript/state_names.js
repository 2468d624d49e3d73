console.log(__filename, __dirname, require.main === module, module.id, module.filename, module.loaded, module.parent, module.children);
console.log(module.paths, require.resolve.paths('x'), Object.keys(require.cache), this === module.exports, arguments.length);
