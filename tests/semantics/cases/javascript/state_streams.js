const fs = require('fs');
for (const stream of [process.stdin, process.stdout, process.stderr])
  console.log(stream.constructor.name, stream.isTTY, stream.fd, stream.writableHighWaterMark, stream.readableHighWaterMark, stream.writable);
for (const fd of [0, 1, 2]) console.log(fd, fs.fstatSync(fd).isFIFO(), fs.fstatSync(fd).isCharacterDevice());
console.log(process.stdout.hasColors, process.stdout.columns, process.stdout.getColorDepth);
