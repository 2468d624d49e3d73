const fs = require('fs');
fs.writeFileSync('/tmp/neighbour.js', 'exports.name = __filename; exports.parent = module.parent.id; exports.main = require.main === module;');
console.log(require('./neighbour'), Object.keys(require.cache).length, module.children.length);
fs.mkdirSync('/tmp/node_modules/thing', { recursive: true });
fs.writeFileSync('/tmp/node_modules/thing/package.json', '{"main": "lib.js", "version": "1.2.3"}');
fs.writeFileSync('/tmp/node_modules/thing/lib.js', 'module.exports = () => "a thing";');
console.log(require('thing')(), require('thing/package.json').version, require.resolve('thing'));
