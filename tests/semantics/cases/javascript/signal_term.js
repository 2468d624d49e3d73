console.log('before');
process.kill(process.pid, 'SIGTERM');
setTimeout(() => console.log('never printed'), 60000);
