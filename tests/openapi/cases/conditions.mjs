// If-Match and If-None-Match.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox } from '../support/server.mjs';

const other = '"another"';

test('a sandbox is changed only in the state that the caller knows', async (t) => {
  const { id } = await make_sandbox(t, { start: false });
  const path = { id };
  const { headers } = await api.call('getSandbox', { path, expect: 200 });
  await api.call('getSandbox', { path, headers: { 'if-none-match': headers.etag }, expect: 304 });
  await api.refused('getSandbox', 412, 'precondition', { path, headers: { 'if-match': other } });
  await api.refused('updateSandbox', 412, 'precondition', { path, headers: { 'if-match': other }, json: { labels: { a: 'b' } } });
  await api.refused('deleteSandbox', 412, 'precondition', { path, headers: { 'if-match': other } });
  await api.call('updateSandbox', { path, headers: { 'if-match': headers.etag }, json: { labels: { a: 'b' } }, expect: 200 });
  const changed = await api.call('getSandbox', { path, headers: { 'if-none-match': headers.etag }, expect: 200 });
  assert.notEqual(changed.headers.etag, headers.etag);
});

test('a file is changed only in the state that the caller knows', async (t) => {
  const { id } = await make_sandbox(t);
  const request = { path: { id }, query: { path: 'note' } };
  await api.call('writeFile', { ...request, body: 'one', expect: 201 });
  const { headers } = await api.call('readFile', { ...request, expect: 200 });
  const known = { headers: { 'if-none-match': headers.etag } };
  const wrong = { headers: { 'if-match': other } };
  await api.call('readFile', { ...request, ...known, expect: 304 });
  await api.call('statFile', { ...request, ...known, expect: 304 });
  await api.refused('readFile', 412, 'precondition', { ...request, ...wrong });
  await api.call('statFile', { ...request, ...wrong, expect: 412 });
  await api.refused('writeFile', 412, 'precondition', { ...request, ...wrong, body: 'two' });
  await api.refused('removeFile', 412, 'precondition', { ...request, ...wrong });
  assert.equal((await api.call('readFile', { ...request, expect: 200 })).text, 'one');
});
