function a() {
  return b();
}
const b = () => new Error('with a stack').stack;
console.log(a());
Error.stackTraceLimit = 1;
console.log(a());
Error.prepareStackTrace = (error, sites) => sites.map((site) => [site.getFunctionName(), site.getLineNumber(), site.getFileName()]);
console.log(a());
