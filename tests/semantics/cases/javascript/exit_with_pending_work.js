setInterval(() => console.log('never printed'), 60000);
console.log('ends all the same');
process.exit();
