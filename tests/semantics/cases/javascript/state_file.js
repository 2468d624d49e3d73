const fs = require('fs');
const found = fs.lstatSync(__filename);
console.log(found.isFile(), (found.mode & 0o7777).toString(8), found.size, found.nlink, found.uid === process.getuid());
console.log(fs.readFileSync(__filename, 'utf8').length, fs.readdirSync('/tmp').length, fs.realpathSync(__filename) === __filename);
fs.unlinkSync(__filename);
console.log(fs.existsSync(__filename));
