let turns = 0;
process.on('beforeExit', () => {
  if (turns++ < 2) setImmediate(() => console.log('turn', turns));
});
console.log('end');
