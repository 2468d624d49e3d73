console.log(Symbol('s'), Symbol.for('f').description, [1.5, -0, NaN, 10n ** 20n], new Date(0), /x/gi, new Error('e').message);
console.log([..."a😀b"], 'ß'.toUpperCase(), 'İ'.toLowerCase().length, 'é'.normalize('NFD').length, [3, 1, 2].toSorted?.());
console.log(new (class Thing { #hidden = 1; shown = 2; get computed() { return 3; } })(), Object.create(null), new Proxy({}, {}), () => 0, async function* f() {});
console.log(typeof structuredClone({ a: new Map() }).a, globalThis === global, new Intl.NumberFormat('de-DE').format(1234567.891));
label: for (const i of [1, 2]) for (const j of [1, 2]) { if (j === 2) continue label; console.log(i, j); }
