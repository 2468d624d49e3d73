const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) new Worker(__filename);
else throw new Error('in the worker');
