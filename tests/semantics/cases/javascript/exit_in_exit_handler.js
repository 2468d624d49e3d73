process.on('exit', () => process.exit(9));
