setImmediate(() => {
  console.log('immediate');
  setImmediate(() => console.log('immediate of immediate'));
  process.nextTick(() => console.log('tick of immediate'));
  Promise.resolve().then(() => console.log('promise of immediate'));
});
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
(async () => {
  console.log('async begins');
  await null;
  console.log('async goes on');
})();
console.log('main');
