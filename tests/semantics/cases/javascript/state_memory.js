const v8 = require('v8');
console.log(v8.getHeapStatistics().heap_size_limit > 1e8, process.resourceUsage().maxRSS > 0, process.memoryUsage.rss() > 0);
console.log(process.uptime() >= 0, require('os').availableParallelism(), require('os').tmpdir(), require('os').homedir());
