async function work() {
  await null;
  throw new Error('rejected');
}
process.on('exit', (code) => console.log('exit', code));
work();
