process.emitWarning('careful', { code: 'W1', detail: 'in detail' });
process.emitWarning('old', 'DeprecationWarning', 'DEP0');
new Buffer(3);
console.log('end');
