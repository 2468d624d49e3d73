process.on('unhandledRejection', (reason, promise) => console.log('unhandled', reason.message, promise));
process.on('rejectionHandled', () => console.log('handled later'));
const promise = Promise.reject(new Error('late'));
setTimeout(() => promise.catch(() => console.log('caught')), 5);
