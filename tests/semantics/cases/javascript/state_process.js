console.log(process.version, process.versions, process.arch, process.platform, process.release, process.features);
console.log(process.cwd(), process.umask().toString(8), process.connected, process.channel, process.exitCode, process.debugPort);
console.log(process.allowedNodeEnvironmentFlags.size, process.report.directory, process.stdin.fd, process.noDeprecation);
