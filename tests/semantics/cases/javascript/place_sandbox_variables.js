console.log(process.env.GREETING, Error.stackTraceLimit, process.cwd());
