process.stdin.on('data', (data) => console.log('data', data));
process.stdin.on('end', () => console.log('end'));
