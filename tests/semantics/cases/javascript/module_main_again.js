const { execFileSync } = require('child_process');
if (process.argv.length > 2) console.log('again', require.main === module, process.argv.slice(2));
else process.stdout.write(execFileSync(process.execPath, [__filename, 'a', 'b']));
