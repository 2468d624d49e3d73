const { spawnSync, execFileSync, fork, exec } = require('child_process');
if (process.argv[2] === 'child') {
  process.on('message', (message) => {
    process.send({ got: message, argv: process.argv.length });
    process.disconnect();
  });
} else {
  console.log(spawnSync('sh', ['-c', 'cat; echo error >&2; exit 3'], { input: 'given', encoding: 'utf8' }));
  console.log(execFileSync(process.execPath, ['-e', 'console.log(1 + 1)']).toString());
  console.log(spawnSync('surely-not-there').error.code);
  fork(__filename, ['child'])
    .on('message', (message) => console.log(message))
    .on('exit', (code) => {
      console.log('child', code);
      exec('kill -TERM $$', (error) => console.log(error.signal, error.code));
    })
    .send('hello');
}
