process.on('beforeExit', (code) => console.log('before exit', code));
process.on('exit', (code) => {
  console.log('exit', code, process.exitCode);
  process.exitCode = 6;
  setTimeout(() => console.log('never printed'), 0);
});
console.log('end');
