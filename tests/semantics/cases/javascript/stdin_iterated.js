(async () => {
  for await (const piece of process.stdin) console.log(piece);
})();
