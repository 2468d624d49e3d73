#!/usr/bin/env node
'use strict';
const fs = require('fs');
const own = fs.readFileSync(__filename, 'utf8').split('\n');
console.log(own.length, own[0], main.toString());
function main(a, /* a comment */ b) {
  return this === undefined;
}
console.log(main(), new Error('x').stack.split('\n')[1].trim());
