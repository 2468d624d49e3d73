const fs = require('fs');
fs.writeFileSync('/tmp/module.mjs', `
import { readFileSync } from 'fs';
const value = await Promise.resolve(5);
export { value };
export default import.meta.url;
export const kind = typeof require + typeof readFileSync;
`);
import('./module.mjs')
  .then((module) => console.log(module))
  .then(() => import('data:text/javascript,export default 3'))
  .then(({ default: value }) => console.log(value));
