const assert = require('assert');
const x = 3;
assert(x ===
  4);
