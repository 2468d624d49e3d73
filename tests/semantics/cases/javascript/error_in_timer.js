setTimeout(function late() {
  throw new RangeError('in a timer');
}, 1);
