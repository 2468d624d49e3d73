let text = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (data) => (text += data));
process.stdin.on('end', () => console.log(JSON.stringify(text)));
