console.log(JSON.stringify(require('fs').readFileSync(0, 'utf8')), JSON.stringify(require('fs').readFileSync('/dev/stdin', 'utf8')));
