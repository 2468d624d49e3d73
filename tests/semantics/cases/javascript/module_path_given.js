require('fs').mkdirSync('/home/user/modules');
require('fs').writeFileSync('/home/user/modules/found.js', 'module.exports = __filename;');
console.log(require('found'));
