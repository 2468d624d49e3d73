let seen = 0;
for (const name of ['SIGINT', 'SIGTERM', 'SIGUSR2', 'SIGHUP'])
  process.on(name, (signal, number) => {
    console.log('got', signal, number);
    if (++seen === 4) process.exit(8);
    next();
  });
const names = ['SIGINT', 'SIGTERM', 'SIGUSR2', 'SIGHUP'];
const next = () => process.kill(process.pid, names.shift());
const alive = setInterval(() => {}, 60000);
next();
