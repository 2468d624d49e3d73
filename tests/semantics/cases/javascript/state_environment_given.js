console.log(process.env.GREETING, JSON.stringify(process.env.EMPTY), process.env.NODE_ENV, process.env.NOTHING);
console.log(require('child_process').execSync('echo $GREETING').toString());
