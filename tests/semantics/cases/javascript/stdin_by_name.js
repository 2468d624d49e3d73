console.log(JSON.stringify(require('fs').readFileSync('/dev/stdin', 'utf8')));
