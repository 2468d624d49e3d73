console.log(require('./helper').value, typeof require('./package.json').type);
