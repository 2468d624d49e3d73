const lines = require('readline').createInterface({ input: process.stdin });
lines.on('line', (line) => console.log(JSON.stringify(line)));
lines.on('close', () => console.log('closed'));
