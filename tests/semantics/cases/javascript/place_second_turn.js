console.log(require('fs').readdirSync('/tmp').length, process.moduleLoadList.length);
