process.on('uncaughtExceptionMonitor', (error, origin) => console.log('monitor', error.message, origin));
process.on('uncaughtException', (error, origin) => console.log('handled', error.message, origin));
setTimeout(() => console.log('goes on'), 5);
throw new Error('not the end');
