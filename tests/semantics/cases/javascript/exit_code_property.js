process.exitCode = 4;
setTimeout(() => console.log('still here'), 5);
