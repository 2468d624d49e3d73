// Keys, projects, tokens and signed URLs.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { open, read } from '../support/http.mjs';
import { api, keyed, make_key, make_sandbox, run, socket, stranger, unique } from '../support/server.mjs';

const over_tcp = { skip: stranger ? false : 'needs COVE_TEST_URL' };
const on_socket = { skip: socket ? false : 'needs COVE_TEST_SOCKET' };
const on_both = { skip: over_tcp.skip || on_socket.skip };
const of = (sandbox) => ({ path: { id: sandbox.id } });

test('a key is made, listed without its secret, and revoked', async (t) => {
  const name = unique('key');
  const { json: key } = await api.call('createKey', { json: { name, scopes: ['read'], expires: '1h' }, expect: 201 });
  assert.deepEqual([key.name, key.project, key.scopes], [name, 'default', ['read']]);
  assert.ok(Math.abs(Date.parse(key.expires_at) - Date.parse(key.created_at) - 3_600_000) < 5_000);
  const listed = async () => (await api.call('listKeys', { expect: 200 })).json.items.find(({ id }) => id === key.id);
  const { key: secret, ...shown } = key;
  assert.deepEqual(await listed(), shown);
  await api.call('revokeKey', { path: { key: key.id }, expect: 204 });
  assert.equal(await listed(), undefined);
  await api.refused('revokeKey', 404, 'not_found', { path: { key: key.id } });
});

test('a key that makes no sense is refused', async () => {
  const name = unique('key');
  for (const json of [{}, { name: '' }, { name, scopes: [] }, { name, scopes: ['all'] }, { name, scope: ['read'] }, { name, expires: 'never' }])
    await api.refused('createKey', 400, 'invalid', { json });
  await api.refused('createKey', 404, 'not_found', { json: { name, project: unique('none') } });
});

test('a key opens the door, in either header, until it is revoked', over_tcp, async (t) => {
  const key = await make_key(t, ['read']);
  await keyed(key.key).call('listSandboxes', { expect: 200 });
  await stranger.with({ 'x-api-key': key.key }).call('listSandboxes', { expect: 200 });
  const forged = key.key.slice(0, -1) + (key.key.endsWith('0') ? '1' : '0');
  await keyed(forged).refused('listSandboxes', 401, 'unauthorized');
  await stranger.with({ authorization: 'Basic eDp5' }).refused('listSandboxes', 401, 'unauthorized');
  await api.call('revokeKey', { path: { key: key.id }, expect: 204 });
  await keyed(key.key).refused('listSandboxes', 401, 'unauthorized');
});

test('a project has quotas, and what is in it is its own', on_both, async (t) => {
  const id = unique('p');
  const made = await socket.call('createProject', { json: { id, quotas: { sandboxes: 1, memory: '4g', disk: 0 } }, expect: 201 });
  t.after(() => socket.call('deleteProject', { path: { project: id }, expect: [204, 404, 409] }));
  assert.equal(made.headers.location, `/v1/projects/${id}`);
  assert.deepEqual(made.json.quotas, { sandboxes: 1, memory_bytes: 4 * 2 ** 30, disk_bytes: 0 });
  assert.equal(made.json.usage.sandboxes, 0);
  await socket.refused('createProject', 409, 'exists', { json: { id } });

  const inside = socket.with({ 'cove-project': id });
  const sandbox = await make_sandbox(t, {}, inside);
  assert.equal(sandbox.project, id);
  await inside.refused('createSandbox', 429, 'exhausted', { json: {} });
  await socket.refused('getSandbox', 404, 'not_found', of(sandbox));
  const own = keyed((await make_key(t, ['admin'], id)).key);
  await own.call('getSandbox', { ...of(sandbox), expect: 200 });
  const other = keyed((await make_key(t, ['admin'])).key);
  await other.refused('getSandbox', 404, 'not_found', of(sandbox));
  assert.deepEqual((await own.call('listProjects', { expect: 200 })).json.items.map((project) => project.id), [id]);
  await own.refused('getProject', 404, 'not_found', { path: { project: 'default' } });

  const { json: used } = await socket.call('getProject', { path: { project: id }, expect: 200 });
  assert.equal(used.usage.sandboxes, 1);
  const { json: usage } = await own.call('getUsage', { expect: 200 });
  assert.deepEqual([usage.project, usage.sandboxes], [id, 1]);
  await socket.refused('deleteProject', 409, 'conflict', { path: { project: id } });
  const { json: more } = await socket.call('updateProject', { path: { project: id }, json: { quotas: { sandboxes: 2 } }, expect: 200 });
  assert.deepEqual(more.quotas, { sandboxes: 2, memory_bytes: 4 * 2 ** 30, disk_bytes: 0 });
  await own.refused('updateProject', 403, 'denied', { path: { project: id }, json: { quotas: { sandboxes: 99 } } });

  await inside.call('deleteSandbox', { ...of(sandbox), expect: 204 });
  await socket.call('deleteProject', { path: { project: id }, expect: 204 });
  await socket.refused('getProject', 404, 'not_found', { path: { project: id } });
  await inside.refused('listSandboxes', 404, 'not_found');
});

test('projects that cannot be', on_socket, async () => {
  const { json } = await socket.call('listProjects', { expect: 200 });
  assert.ok(json.items.some((project) => project.id === 'default'));
  for (const json of [{}, { id: 'No Spaces' }, { id: unique('p'), quotas: { sandboxes: -1 } }, { id: unique('p'), quotas: { cats: 1 } }])
    await socket.refused('createProject', 400, 'invalid', { json });
  await socket.refused('updateProject', 404, 'not_found', { path: { project: unique('none') }, json: {} });
  await socket.refused('updateProject', 400, 'invalid', { path: { project: 'default' }, json: { quota: {} } });
  await socket.refused('deleteProject', 404, 'not_found', { path: { project: unique('none') } });
  await socket.refused('deleteProject', 409, 'conflict', { path: { project: 'default' } });
});

test('a token works for one sandbox, to its scope', over_tcp, async (t) => {
  const sandbox = await make_sandbox(t);
  const other = await make_sandbox(t, { start: false });
  const token = async (scopes) => (await api.call('createToken', { ...of(sandbox), json: { scopes, ttl: '10m' }, expect: 201 })).json.token;
  const reader = keyed(await token(['read']));
  const runner = keyed(await token(['run']));
  await reader.call('getSandbox', { ...of(sandbox), expect: 200 });
  await reader.call('listEntries', { ...of(sandbox), query: { path: '/tmp' }, expect: 200 });
  await reader.refused('createExec', 403, 'denied', { ...of(sandbox), json: { argv: ['true'] } });
  await reader.refused('writeFile', 403, 'denied', { ...of(sandbox), query: { path: 'x' }, body: 'x' });
  assert.equal((await run(sandbox, { argv: ['echo', 'hi'] }, runner)).stdout.text, 'hi\n');
  const query = { token: await token(['read']), path: '/tmp' };
  await stranger.call('listEntries', { ...of(sandbox), query, expect: 200 });
  for (const api of [reader, runner]) {
    await api.call('getSandbox', { ...of(other), expect: [403, 404] });
    await api.refused('listSandboxes', 403, 'denied');
    await api.refused('deleteSandbox', 403, 'denied', of(sandbox));
    await api.refused('createToken', 403, 'denied', { ...of(sandbox), json: { scopes: ['read'] } });
  }
});

test('a signed URL works for one file and one method', over_tcp, async (t) => {
  const sandbox = await make_sandbox(t);
  await api.call('writeFile', { ...of(sandbox), query: { path: 'f' }, body: 'signed', expect: 201 });
  const sign = async (file) => (await api.call('createToken', { ...of(sandbox), json: { file, ttl: '60s' }, expect: 201 })).json.url;
  const fetch = async (method, path, body) => {
    const answer = await open(stranger.target, { method, path, body });
    return [answer.statusCode, (await read(answer)).toString()];
  };
  const url = await sign({ path: 'f', method: 'GET' });
  assert.deepEqual(await fetch('GET', url), [200, 'signed']);
  assert.equal((await fetch('PUT', url, 'x'))[0], 403);
  assert.equal((await fetch('GET', url.replace('path=f', 'path=g')))[0], 403);
  assert.equal((await fetch('GET', `${url.slice(0, -1)}${url.endsWith('0') ? '1' : '0'}`))[0], 403);
  const upload = await sign({ path: 'g', method: 'PUT' });
  assert.equal((await fetch('PUT', upload, 'up'))[0], 201);
  assert.equal((await api.call('readFile', { ...of(sandbox), query: { path: 'g' } })).text, 'up');
});

test('tokens that make no sense are refused', async (t) => {
  const sandbox = await make_sandbox(t, { start: false });
  for (const json of [{}, { scopes: [] }, { scopes: ['admin'] }, { scopes: ['read'], ttl: 'long' }, { file: {} },
    { file: { path: 'f', method: 'POST' } }, { scopes: ['read'], file: { path: 'f' } }])
    await api.refused('createToken', 400, 'invalid', { ...of(sandbox), json });
});
