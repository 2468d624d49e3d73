function down(n) {
  return down(n + 1) + 1;
}
try {
  down(0);
} catch (error) {
  console.log(error instanceof RangeError, error.message);
}
