const { EventEmitter } = require('events');
const emitter = new EventEmitter();
for (let i = 0; i < 11; i++) emitter.on('x', () => {});
console.log(emitter.listenerCount('x'));
