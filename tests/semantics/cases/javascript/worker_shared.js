const { Worker } = require('worker_threads');
const shared = new Int32Array(new SharedArrayBuffer(4));
const code = `const { workerData } = require('worker_threads'); for (let i = 0; i < 1000; i++) Atomics.add(workerData, 0, 1);`;
let left = 2;
for (let i = 0; i < 2; i++)
  new Worker(code, { eval: true, workerData: shared }).on('exit', () => --left || console.log(shared[0]));
