const readline = require('readline').createInterface({ input: process.stdin, output: process.stdout });
readline.question('name? ', (name) => {
  readline.question('age? ', (age) => {
    console.log(name, age);
    readline.close();
  });
});
