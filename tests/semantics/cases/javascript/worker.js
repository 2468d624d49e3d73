const { Worker, isMainThread, parentPort, workerData, threadId } = require('worker_threads');
if (isMainThread) {
  const worker = new Worker(__filename, { workerData: { n: 7 } });
  worker.on('message', (message) => console.log('message', message));
  worker.on('exit', (code) => console.log('exit', code));
} else {
  parentPort.postMessage({ square: workerData.n ** 2, threadId, main: require.main === module });
  process.exit(3);
}
