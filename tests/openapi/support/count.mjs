// A reporter that counts: "N passed, N failed", with what was skipped where something was.
export default async function* count(source) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite' || (type === 'test:pass' && data.name.endsWith('.mjs'))) continue;
    if (data.skip !== undefined) ++sum.skipped;
    else ++sum[type === 'test:pass' ? 'passed' : 'failed'];
  }
  yield `${sum.passed} passed, ${sum.failed} failed${sum.skipped ? `, ${sum.skipped} skipped` : ''}\n`;
}
