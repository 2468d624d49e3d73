const hash = require('crypto').createHash('sha256');
let length = 0;
process.stdin.on('data', (data) => {
  length += data.length;
  hash.update(data);
});
process.stdin.on('end', () => console.log(length, hash.digest('hex')));
