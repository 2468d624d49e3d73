const { pipeline, Readable, Transform } = require('stream');
console.log(Buffer.from('héllo'), Buffer.alloc(3, 'ab').toString('base64'), Buffer.concat([Buffer.from([1]), Buffer.from('é', 'latin1')]));
console.log(new Uint8Array([1, 2]).buffer, new TextDecoder('utf-16le').decode(Buffer.from('hi', 'utf16le')), btoa('x'), new DataView(new ArrayBuffer(2)).byteLength);
const upper = new Transform({ transform: (piece, encoding, done) => done(null, piece.toString().toUpperCase()) });
pipeline(Readable.from(['a', 'b', 'c']), upper, process.stdout, () => {});
