console.log('x'.repeat(50000));
process.exit(2);
