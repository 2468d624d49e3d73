import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox, run } from '../support/server.mjs';

function files_of(sandbox) {
  const call = (id, path, request = {}) =>
    api.call(id, { path: { id: sandbox.id }, ...request, query: { path, ...request.query } });
  return {
    call,
    refused: (id, status, code, path, request = {}) =>
      api.refused(id, status, code, { path: { id: sandbox.id }, ...request, query: { path, ...request.query } }),
    put: (path, body, expect = 201) => call('writeFile', path, { body, expect }),
    post: (id, json, expect) => api.call(id, { path: { id: sandbox.id }, json, expect }),
  };
}

test('a file is written, read, looked at and removed', async (t) => {
  const files = files_of(await make_sandbox(t));
  const written = await files.put('data.csv', 'a,1\nb,2\n');
  assert.deepEqual(written.json, { path: '/home/user/data.csv', bytes: 8 });
  const read = await files.call('readFile', 'data.csv', { expect: 200 });
  assert.equal(read.text, 'a,1\nb,2\n');
  assert.equal(read.headers['content-length'], '8');
  assert.equal(read.headers['cove-mode'], '0644');
  assert.equal(read.headers['cove-owner'], '1000:1000');
  const head = await files.call('statFile', '/home/user/data.csv', { expect: 200 });
  assert.equal(head.bytes.length, 0);
  for (const name of ['content-length', 'etag', 'last-modified', 'cove-mode', 'cove-owner'])
    assert.equal(head.headers[name], read.headers[name], name);

  await files.put('data.csv', 'new', 200);
  const replaced = await files.call('readFile', 'data.csv', { expect: 200 });
  assert.equal(replaced.text, 'new');
  assert.notEqual(replaced.headers.etag, read.headers.etag);
  await files.call('removeFile', 'data.csv', { expect: 204 });
  await files.refused('readFile', 404, 'not_found', 'data.csv');
  assert.equal((await files.call('statFile', 'data.csv', { expect: 404 })).bytes.length, 0);
  await files.refused('removeFile', 404, 'not_found', 'data.csv');
});

test('a range of a file can be read', async (t) => {
  const files = files_of(await make_sandbox(t));
  await files.put('digits', '0123456789');
  const range = async (range, text, content_range) => {
    const answer = await files.call('readFile', 'digits', { headers: { range }, expect: 206 });
    assert.equal(answer.text, text);
    assert.equal(answer.headers['content-range'], content_range);
  };
  await range('bytes=2-4', '234', 'bytes 2-4/10');
  await range('bytes=7-', '789', 'bytes 7-9/10');
  await range('bytes=-2', '89', 'bytes 8-9/10');
  await range('bytes=5-100', '56789', 'bytes 5-9/10');
  const answer = await files.call('readFile', 'digits', { headers: { range: 'bytes=10-' }, expect: 416 });
  assert.equal(answer.headers['content-range'], 'bytes */10');
});

test('a file has the mode, the folders and the owner that were asked for', async (t) => {
  const sandbox = await make_sandbox(t);
  const files = files_of(sandbox);
  await files.refused('writeFile', 404, 'not_found', 'a/b/c.sh', { body: 'x' });
  await files.call('writeFile', 'a/b/c.sh', { query: { mode: '0755', parents: true }, body: '#!/bin/sh\necho hi\n', expect: 201 });
  assert.equal((await run(sandbox, { argv: ['./a/b/c.sh'] })).stdout.text, 'hi\n');
  assert.equal((await files.call('statFile', 'a/b/c.sh', { expect: 200 })).headers['cove-mode'], '0755');
  await files.call('writeFile', '/etc/by-root', { query: { user: 'root' }, body: 'x', expect: 201 });
  assert.equal((await files.call('statFile', '/etc/by-root', { expect: 200 })).headers['cove-owner'], '0:0');
  await files.refused('writeFile', 403, 'denied', '/etc/by-user', { body: 'x' });
  await files.refused('writeFile', 400, 'invalid', 'x', { query: { mode: '9' }, body: 'x' });
  await files.refused('writeFile', 400, 'invalid', 'a', { body: 'x' });
  await files.refused('readFile', 400, 'invalid', 'a');
  await files.refused('readFile', 400, 'invalid', '');
  await files.refused('readFile', 404, 'not_found', 'x', { query: { user: 'nobody-of-that-name' } });
  await api.refused('readFile', 400, 'invalid', { path: { id: sandbox.id } });
});

test('a folder that is not empty goes only with all that is in it', async (t) => {
  const files = files_of(await make_sandbox(t));
  await files.post('makeFolder', { path: 'd/e', parents: true }, 201);
  await files.refused('removeFile', 409, 'conflict', 'd');
  await files.call('removeFile', 'd', { query: { recursive: true }, expect: 204 });
  await files.refused('listEntries', 404, 'not_found', 'd');
  await files.refused('removeFile', 400, 'invalid', 'd', { query: { recursive: 'perhaps' } });
});

test('a folder is listed to the depth that was asked for', async (t) => {
  const sandbox = await make_sandbox(t);
  const files = files_of(sandbox);
  await run(sandbox, { shell: 'mkdir -p t/d/e; echo 12345 > t/f; ln -s f t/l; mkfifo t/p; chmod 700 t/d' });
  const list = async (path, query) => (await files.call('listEntries', path, { query, expect: 200 })).json;
  const names = (answer) => answer.items.map((entry) => entry.name).sort();

  const one = await list('t', {});
  assert.deepEqual(names(one), ['d', 'f', 'l', 'p']);
  assert.equal(one.next, null);
  const first = await list('t', { limit: 3 });
  assert.deepEqual(names(first), ['d', 'f', 'l']);
  assert.deepEqual(names(await list('t', { limit: 3, after: first.next })), ['p']);
  const entry = (name) => one.items.find((entry) => entry.name === name);
  assert.deepEqual([entry('f').type, entry('f').size_bytes, entry('f').path], ['file', 6, '/home/user/t/f']);
  assert.deepEqual([entry('d').type, entry('d').mode], ['directory', '0700']);
  assert.deepEqual([entry('l').type, entry('l').target], ['symlink', 'f']);
  assert.deepEqual([entry('p').type, entry('f').uid, entry('f').gid], ['other', 1000, 1000]);
  for (const { type, target } of one.items) assert.equal(target !== undefined, type === 'symlink');
  assert.deepEqual(names(await list('t', { depth: 0 })), ['t']);
  assert.deepEqual(names(await list('t', { depth: 2 })), ['d', 'e', 'f', 'l', 'p']);
  assert.deepEqual(names(await list('t/f', {})), ['f']);
  for (const depth of [-1, 65, 'deep']) await files.refused('listEntries', 400, 'invalid', 't', { query: { depth } });
});

test('folders are made, entries moved and their modes changed', async (t) => {
  const files = files_of(await make_sandbox(t));
  const made = (await files.post('makeFolder', { path: 'd', mode: '0750' }, 201)).json;
  assert.deepEqual([made.name, made.path, made.type, made.mode], ['d', '/home/user/d', 'directory', '0750']);
  await files.put('d/f', 'x');
  const moved = (await files.post('moveEntry', { from: 'd/f', to: 'g' }, 200)).json;
  assert.deepEqual([moved.path, moved.type], ['/home/user/g', 'file']);
  await files.put('old', 'old');
  await files.post('moveEntry', { from: 'g', to: 'old' }, 200);
  assert.equal((await files.call('readFile', 'old', { expect: 200 })).text, 'x');
  const changed = (await files.post('changeMode', { path: 'old', mode: '0600' }, 200)).json;
  assert.equal(changed.mode, '0600');
  await files.post('makeFolder', { path: 'd', parents: true }, 201);
});

test('folders, moves and modes that cannot be', async (t) => {
  const sandbox = await make_sandbox(t);
  const refused = (id, status, code, json) => api.refused(id, status, code, { path: { id: sandbox.id }, json });
  await run(sandbox, { shell: 'mkdir d full; touch full/f' });
  await refused('makeFolder', 409, 'exists', { path: 'd' });
  await refused('makeFolder', 404, 'not_found', { path: 'no/such/d' });
  await refused('makeFolder', 403, 'denied', { path: '/etc/d' });
  await refused('makeFolder', 400, 'invalid', { path: 'x', mode: 'rwx' });
  await refused('makeFolder', 400, 'invalid', {});
  await refused('moveEntry', 404, 'not_found', { from: 'nothing', to: 'x' });
  await refused('moveEntry', 409, 'conflict', { from: 'd', to: 'full' });
  await refused('moveEntry', 403, 'denied', { from: 'd', to: '/etc/d' });
  await refused('moveEntry', 400, 'invalid', { from: 'd' });
  await refused('changeMode', 404, 'not_found', { path: 'nothing', mode: '0600' });
  await refused('changeMode', 403, 'denied', { path: '/etc/passwd', mode: '0777' });
  await refused('changeMode', 400, 'invalid', { path: 'd', mode: '8' });
});

test('a folder goes out as tar and comes in again', async (t) => {
  const sandbox = await make_sandbox(t);
  const files = files_of(sandbox);
  await run(sandbox, { shell: 'mkdir -p t/d; echo one > t/f; echo three > t/d/g; chmod 755 t/f; ln -s f t/l' });
  const tar = await files.call('readArchive', 't', { expect: 200 });
  assert.equal(tar.bytes.length % 512, 0);
  const unpacked = await files.call('writeArchive', 'copy', {
    body: tar.bytes, headers: { 'content-type': 'application/x-tar' }, expect: 200,
  });
  assert.equal(unpacked.json.bytes, 'one\nthree\n'.length);
  const same = await run(sandbox, { shell: 'diff -r t copy && test -x copy/f && readlink copy/l' });
  assert.equal(same.stdout.text, 'f\n', same.stderr.text);
  await files.refused('readArchive', 404, 'not_found', 'nothing');
  await files.refused('writeArchive', 400, 'invalid', 'bad', { body: 'x'.repeat(2048), headers: { 'content-type': 'application/x-tar' } });
  await files.refused('writeArchive', 403, 'denied', '/etc', { body: tar.bytes, headers: { 'content-type': 'application/x-tar' } });
});

test('changes in a folder are told', async (t) => {
  const sandbox = await make_sandbox(t);
  const files = files_of(sandbox);
  await run(sandbox, { shell: 'mkdir -p w/sub' });
  const stream = await api.stream('watchFolder', { path: { id: sandbox.id }, query: { path: 'w', recursive: true } });
  t.after(() => stream.close());
  const ready = (await stream.next()).value;
  assert.deepEqual([ready.event, ready.data], ['ready', {}]);
  const until = async (type, path, directory) => {
    for (;;) {
      const { value } = await stream.next();
      if (value.data.type === type && value.data.path === path) return assert.equal(value.data.directory, directory);
    }
  };
  await run(sandbox, { shell: 'echo x > w/sub/f; mkdir w/new; mv w/sub/f w/sub/g; chmod 600 w/sub/g; rm w/sub/g' });
  await until('create', '/home/user/w/sub/f', false);
  await until('modify', '/home/user/w/sub/f', false);
  await until('create', '/home/user/w/new', true);
  await until('move_from', '/home/user/w/sub/f', false);
  await until('move_to', '/home/user/w/sub/g', false);
  await until('attrib', '/home/user/w/sub/g', false);
  await until('delete', '/home/user/w/sub/g', false);
  await files.refused('watchFolder', 404, 'not_found', 'nothing');
  await files.refused('watchFolder', 406, 'not_acceptable', 'w', { headers: { accept: 'application/json' } });
});
