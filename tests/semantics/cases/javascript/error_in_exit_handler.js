process.on('exit', () => {
  throw new Error('at exit');
});
console.log('end');
