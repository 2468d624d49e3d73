// The same request again, with its Idempotency-Key; request ids; pointers to what is wrong.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { operations } from '../support/document.mjs';
import { api, keyed, make_key, make_sandbox, socket, stranger, unique } from '../support/server.mjs';

const on_socket = { skip: socket ? false : 'needs COVE_TEST_SOCKET' };
const once = (key) => ({ headers: { 'idempotency-key': key } });

// For each operation that takes a key: a request, and another one.
async function requests(t) {
  const sandbox = await make_sandbox(t);
  const { json: session } = await api.call('startSession', { json: {}, expect: 201 });
  t.after(() => api.call('endSession', { path: { session: session.id }, expect: [204, 404] }));
  const path = { id: sandbox.id };
  const named = unique('once');
  return {
    createSandbox: [{ json: { start: false, labels: { named } } }, { json: { start: false } }],
    createToken: [{ path, json: { scopes: ['read'] } }, { path, json: { scopes: ['run'] } }],
    createExec: [{ path, query: { wait: true }, json: { shell: `echo x >> ${named}; cat ${named}` } }, { path, query: { wait: true }, json: { argv: ['true'] } }],
    createContext: [{ path, json: { name: named } }, { path, json: { name: `${named}2` } }],
    makeFolder: [{ path, json: { path: `${named}-folder` } }, { path, json: { path: `${named}-other` } }],
    startSession: [{ json: { agent: named } }, { json: { agent: `${named}2` } }],
    createSessionExec: [{ path: { session: session.id }, query: { wait: true }, json: { shell: 'echo x >> f; cat f' } },
      { path: { session: session.id }, query: { wait: true }, json: { argv: ['true'] } }],
    execute: [{ json: { session: session.id, shell: 'echo y >> g; cat g' } }, { json: { session: session.id, shell: 'true' } }],
    createKey: [{ json: { name: named, scopes: ['read'] } }, { json: { name: `${named}2`, scopes: ['read'] } }],
    createProject: [{ json: { id: named } }, { json: { id: `${named}2` } }],
    pullImage: [{ json: { reference: '127.0.0.1:1/none:1' } }, { json: { reference: '127.0.0.1:1/none:2' } }],
    importImage: [{ query: { name: named }, body: Buffer.alloc(1024) }, { query: { name: named }, body: Buffer.alloc(1536) }],
    loadImages: null, // below
  };
}

test('what was made once is not made again, and the answer is the same', on_socket, async (t) => {
  const made = await requests(t);
  const taking = [...operations.values()].filter(({ parameters }) => parameters.some(({ name }) => name === 'Idempotency-Key'));
  assert.deepEqual(taking.map(({ id }) => id).sort(), Object.keys(made).sort());
  for (const { id } of taking.filter(({ id }) => made[id])) {
    const [request, other] = made[id];
    const key = once(unique(id));
    const first = await api.call(id, { ...request, ...key });
    assert.ok(first.status < 300, `${id} ${first.text}`);
    assert.equal(first.headers['idempotent-replayed'], undefined, id);
    const again = await api.call(id, { ...request, ...key });
    assert.equal(again.headers['idempotent-replayed'], 'true', id);
    assert.equal(again.status, first.status, id);
    assert.equal(again.headers.location, first.headers.location, id);
    const shown = { ...first.json };
    for (const secret of ['key', 'token', 'url']) if (secret in shown) shown[secret] = null;
    assert.deepEqual(again.json, shown, id);
    await api.refused(id, 409, 'idempotency_mismatch', { ...other, ...key });
  }
  await api.call('deleteProject', { path: { project: made.createProject[0].json.id }, expect: 204 });
  await api.call('deleteImage', { path: { image: made.importImage[0].query.name }, query: { force: true }, expect: 200 });
});

test('archives are told from each other by their bytes', async () => {
  const key = once(unique('load'));
  await api.call('importImage', { query: { name: 'once' }, body: Buffer.alloc(1024), ...key, expect: 201 });
  await api.refused('loadImages', 409, 'idempotency_mismatch', { body: Buffer.alloc(1024), ...key });
  await api.call('deleteImage', { path: { image: 'once' }, query: { force: true }, expect: 200 });
});

test('what was refused may be tried again with the same key', async (t) => {
  const key = once(unique('again'));
  const name = unique('taken');
  const first = await make_sandbox(t, { name, start: false });
  await api.refused('createSandbox', 409, 'exists', { json: { name, start: false }, ...key });
  await api.call('deleteSandbox', { path: { id: first.id }, expect: 204 });
  const { json } = await api.call('createSandbox', { json: { name, start: false }, ...key, expect: 201 });
  await api.call('deleteSandbox', { path: { id: json.id }, expect: 204 });
  await api.refused('createSandbox', 400, 'invalid', { json: {}, headers: { 'idempotency-key': 'x'.repeat(256) } });
});

test('a stream cannot be repeated', async (t) => {
  const sandbox = await make_sandbox(t);
  const headers = { 'idempotency-key': unique('stream'), accept: 'text/event-stream' };
  await api.refused('createExec', 400, 'invalid', { path: { id: sandbox.id }, json: { argv: ['true'] }, headers });
});

test('requests at the same time make one thing', async (t) => {
  const sandbox = await make_sandbox(t);
  const request = { path: { id: sandbox.id }, query: { wait: true }, json: { shell: 'sleep 0.3; echo x >> at-once; cat at-once' }, ...once(unique('at-once')), expect: 200 };
  const [one, two] = await Promise.all([api.call('createExec', request), api.call('createExec', request)]);
  assert.equal(one.json.stdout.text, 'x\n');
  assert.deepEqual(two.json, one.json);
});

test("another project's key is another key", { skip: on_socket.skip || !stranger }, async (t) => {
  const id = unique('p');
  await socket.call('createProject', { json: { id }, expect: 201 });
  t.after(() => socket.call('deleteProject', { path: { project: id }, expect: [204, 409] }));
  const key = once(unique('shared'));
  const json = { start: false };
  const mine = await make_sandbox(t, { start: false });
  const first = await api.call('createSandbox', { json, ...key, expect: 201 });
  const inside = keyed((await make_key(t, ['admin'], id)).key);
  const other = await inside.call('createSandbox', { json, ...key, expect: 201 });
  assert.notEqual(other.json.id, first.json.id);
  assert.equal(other.headers['idempotent-replayed'], undefined);
  await inside.call('deleteSandbox', { path: { id: other.json.id }, expect: 204 });
  await api.call('deleteSandbox', { path: { id: first.json.id }, expect: 204 });
  assert.ok(mine.id);
});

test('a request id of the caller comes back, another is made', async () => {
  const given = await api.call('listSandboxes', { headers: { 'x-request-id': 'mine-1.2:3' }, expect: 200 });
  assert.equal(given.headers['x-request-id'], 'mine-1.2:3');
  const problem = await api.refused('getSandbox', 404, 'not_found', { path: { id: 'none' }, headers: { 'x-request-id': 'mine' } });
  assert.equal(problem.request_id, 'mine');
  for (const id of ['two words', 'x'.repeat(129), '"quoted"']) {
    const made = await api.call('listSandboxes', { headers: { 'x-request-id': id }, expect: 200 });
    assert.match(made.headers['x-request-id'], /^[a-z][a-z0-9]{19}$/);
  }
});

test('the field that is wrong is pointed to', async (t) => {
  const sandbox = await make_sandbox(t, { name: unique('pointed'), start: false });
  const path = { id: sandbox.id };
  const cases = [
    ['createSandbox', 400, { json: { limits: { memory: 'lots' } } }, '/limits/memory'],
    ['createSandbox', 400, { json: { imagge: 'host' } }, '/imagge'],
    ['createSandbox', 400, { json: { env: { 'a/b=c': 'x' } } }, '/env/a~1b=c'],
    ['createSandbox', 400, { json: { lifecycle: { idle: 1.5 } } }, '/lifecycle/idle'],
    ['createSandbox', 400, { json: { name: 'no spaces' } }, '/name'],
    ['createSandbox', 400, { json: { workspace: { access: 'ro' } } }, '/workspace/path'],
    ['createSandbox', 400, { json: { limits: { processes: 1e12 } } }, '/limits/processes'],
    ['createSandbox', 404, { json: { image: 'no-such-image' } }, '/image'],
    ['createSandbox', 409, { json: { name: sandbox.name, start: false } }, '/name'],
    ['createExec', 400, { path, json: { argv: ['a', 1] } }, '/argv/1'],
    ['createExec', 400, { path, json: { code: 'x', language: 'cobol' } }, '/language'],
    ['createExec', 422, { path, json: { argv: ['a'], limits: { memory: '1g' } } }, '/limits/memory'],
    ['execute', 400, { json: { argv: ['a'], files: [{ path: 'a', text: '' }, { text: '' }] } }, '/files/1/path'],
    ['createKey', 400, { json: { name: 'k', scopes: ['all'] } }, '/scopes'],
    ['startSession', 400, { json: { scope: 'agent' } }, '/agent'],
  ];
  for (const [id, status, request, pointer] of cases) {
    const { json } = await api.call(id, { ...request, expect: status });
    assert.equal(json.pointer, pointer, `${id} ${JSON.stringify(request.json)} ${json.detail}`);
  }
});
