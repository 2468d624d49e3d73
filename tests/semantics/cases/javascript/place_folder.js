console.log(process.cwd(), require('fs').readdirSync('.').length);
