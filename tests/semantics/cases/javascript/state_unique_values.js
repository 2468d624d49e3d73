const crypto = require('crypto');
console.log(Math.random(), crypto.randomUUID(), crypto.randomBytes(4));
