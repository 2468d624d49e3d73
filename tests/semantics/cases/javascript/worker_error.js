const { Worker, isMainThread } = require('worker_threads');
if (isMainThread)
  new Worker(__filename).on('error', (error) => console.log(error.stack)).on('exit', (code) => console.log('exit', code));
else throw new Error('in the worker');
