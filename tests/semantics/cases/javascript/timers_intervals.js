let turns = 0;
const interval = setInterval((word) => {
  console.log(word, ++turns);
  if (turns === 3) clearInterval(interval);
}, 1, 'turn');
setTimeout(() => console.log('never printed'), 60000).unref();
console.log(interval.hasRef(), typeof interval[Symbol.toPrimitive]());
