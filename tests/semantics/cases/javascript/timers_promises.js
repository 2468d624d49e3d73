const { setTimeout: wait } = require('timers/promises');
(async () => {
  console.log(await Promise.race([wait(5, 'fast'), wait(5000, 'slow', { ref: false })]));
  const abort = new AbortController();
  const waiting = wait(60000, null, { signal: abort.signal });
  abort.abort();
  await waiting.catch((error) => console.log(error.name, error.code));
  console.log((await Promise.allSettled([1, Promise.reject(2)])).map(({ status }) => status));
})();
