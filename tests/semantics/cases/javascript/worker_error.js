const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) new Worker(__filename).on('exit', (code) => console.log('exit', code));
else throw new Error('in the worker');
