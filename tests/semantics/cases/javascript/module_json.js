const fs = require('fs');
fs.writeFileSync('/tmp/data.json', '{"a": [1, 2], "é": null}');
console.log(require('./data.json'), require('./data') === require('/tmp/data.json'));
fs.writeFileSync('/tmp/bad.json', '{"a": }');
try {
  require('./bad.json');
} catch (error) {
  console.log(error.message);
}
