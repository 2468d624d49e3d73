export const x = 1;
console.log(x, typeof __filename);
