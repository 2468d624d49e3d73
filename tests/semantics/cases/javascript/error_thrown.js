function inner() {
  throw new Error('thrown');
}
function outer() {
  inner();
}
console.log('before');
outer();
