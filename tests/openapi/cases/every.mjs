// What holds for every operation of the document alike.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { assert_problem } from '../support/api.mjs';
import { document, operations, sample, violation } from '../support/document.mjs';
import { open, read } from '../support/http.mjs';
import { api, keyed, make_key, make_sandbox, start, stranger } from '../support/server.mjs';

const over_tcp = { skip: stranger ? false : 'needs COVE_TEST_URL' };
const on_socket = { skip: api.target.socketPath ? false : 'needs COVE_TEST_SOCKET' };
const nothing = 'nosuchthing000000000';

// Values for all path parameters: of things that are there, or that are not.
async function things(t) {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { argv: ['cat'] });
  return { id: sandbox.id, exec: exec.id, context: nothing, session: nothing, key: nothing, secret: nothing, project: 'default', image: 'host', operation: nothing, port: 3000 };
}

// An answer that is not one of an operation's.
async function raw(request) {
  const response = await open(api.target, { ...request, headers: { ...api.headers, ...request.headers } });
  const text = (await read(response)).toString();
  const answer = { status: response.statusCode, headers: response.headers, text, json: text ? JSON.parse(text) : undefined };
  const what = `${request.method} ${request.path} → ${answer.status}`;
  if (answer.json) assert.equal(violation(document.components.schemas.Problem, answer.json), null, `${what} ${text}`);
  if (answer.json) assert_problem(answer, what);
  return answer;
}

test('without credentials nothing but health answers', over_tcp, async (t) => {
  const path = await things(t);
  for (const operation of operations.values())
    if (operation.security.length) await stranger.refused(operation.id, 401, 'unauthorized', { path, ...sample(operation) });
});

test('a key does what its scope allows, and nothing beyond', over_tcp, async (t) => {
  const all = ['read', 'run', 'manage', 'secrets', 'approve', 'admin'];
  for (const scope of all) {
    const allowed = scope === 'admin' ? all : ['read', scope];
    const holder = keyed((await make_key(t, [scope])).key);
    const path = await things(t);
    for (const operation of operations.values())
      if (operation.security.length && !allowed.includes(operation.scope))
        await holder.refused(operation.id, 403, 'denied', { path, ...sample(operation) });
  }
});

test('what does not exist is not found, by every operation that names it', async (t) => {
  const there = await things(t);
  for (const operation of operations.values())
    for (const name of ['id', 'exec', 'context', 'session', 'key', 'secret', 'project', 'image', 'operation']) {
      if (!operation.path.includes(`{${name}}`)) continue;
      const request = { path: { ...there, [name]: nothing }, ...sample(operation) };
      if (operation.websocket)
        await assert.rejects(api.connect(operation.id, request), (error) => error.answer?.status === 404);
      else if (operation.scope !== 'socket' || api.target.socketPath)
        await api.refused(operation.id, 404, 'not_found', request);
    }
});

test('bodies that are no JSON, no object, or have a field too many are refused', async (t) => {
  const path = await things(t);
  for (const operation of operations.values()) {
    if (!operation.body['application/json']) continue;
    if (operation.scope === 'socket' && !api.target.socketPath) continue;
    const { query, json } = sample(operation);
    const headers = { 'content-type': 'application/json' };
    for (const body of ['{"a":', '[]', '"text"', '{} {}', '\xff'])
      await api.refused(operation.id, 400, 'invalid', { path, query, headers, body });
    const problem = await api.refused(operation.id, 400, 'invalid', { path, query, json: { ...json, quux_field: 1 } });
    assert.match(problem.detail, /quux_field/, operation.id);
  }
});

test('what a query must have is asked for', async (t) => {
  const path = await things(t);
  for (const operation of operations.values())
    if (operation.parameters.some(({ in: place, required }) => place === 'query' && required))
      await api.refused(operation.id, 400, 'invalid', { path, ...sample(operation), query: {} });
});

test('a parameter that is not documented is refused', async (t) => {
  const path = await things(t);
  for (const operation of operations.values()) {
    if (operation.websocket || !operation.responses['400']) continue;
    if (operation.scope === 'socket' && !api.target.socketPath) continue;
    const { query, ...request } = sample(operation);
    await api.refused(operation.id, 400, 'invalid', { path, ...request, query: { ...query, quux: '1' } });
  }
});

test('a project that does not exist is not found', on_socket, async (t) => {
  const path = await things(t);
  const lost = api.with({ 'cove-project': nothing });
  for (const operation of operations.values())
    if (operation.parameters.some(({ name }) => name === 'Cove-Project'))
      await lost.refused(operation.id, 404, 'not_found', { path, ...sample(operation) });
});

test('files, execs and figures want a running sandbox', async (t) => {
  const { id } = await make_sandbox(t, { start: false, lifecycle: { auto_resume: false } });
  for (const operation of operations.values())
    if (operation.tag === 'files' || ['createExec', 'getStats'].includes(operation.id))
      await api.refused(operation.id, 409, 'conflict', { path: { id }, ...sample(operation) });
});

test('numbers and flags of a query that are none are refused', async (t) => {
  const path = await things(t);
  for (const operation of operations.values()) {
    const { query, ...request } = sample(operation);
    for (const { in: place, name, schema } of operation.parameters)
      if (place === 'query' && ['integer', 'boolean'].includes(schema.type) && name !== 'expires' && !operation.websocket)
        await api.refused(operation.id, 400, 'invalid', { path, query: { ...query, [name]: 'quux' }, ...request });
  }
});

const pattern = (path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);

test('methods that are not documented are not allowed', async (t) => {
  const there = await things(t);
  for (const template of Object.keys(document.paths)) {
    const documented = [...operations.values()].filter((operation) => operation.path === template).map(({ method }) => method);
    const path = template.replace(/\{(\w+)\}/g, (_, name) => there[name]);
    // /v1/images/load is also the image of that name.
    const elsewhere = [...operations.values()].filter((operation) => operation.path !== template && pattern(operation.path).test(path)).map(({ method }) => method);
    const undocumented = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !documented.includes(method) && !elsewhere.includes(method));
    for (const method of undocumented) {
      const answer = await raw({ method, path, headers: { 'content-length': 0 } });
      assert.equal(answer.status, 405, `${method} ${template}`);
      const allowed = answer.headers.allow.split(/, */);
      for (const method of documented) assert.ok(allowed.includes(method), `${template}: Allow: ${allowed}`);
    }
  }
});

test('paths that are not documented are not found', async () => {
  for (const path of ['/', '/v1', '/v1/', '/v2/sandboxes', '/v1/sandbox', '/v1/sandboxes/x/y', '/v1/health', '/v1/sandboxes/%2e%2e/keys'])
    assert.equal((await raw({ method: 'GET', path })).status, 404, path);
});

test('a body beyond the bound is too large', async (t) => {
  const path = await things(t);
  const body = `{"padding":"${'x'.repeat(5 * 1024 * 1024)}"}`;
  for (const operation of operations.values())
    if (operation.body['application/json'] && (operation.scope !== 'socket' || api.target.socketPath))
      await api.refused(operation.id, 413, 'too_large', { path, body, headers: { 'content-type': 'application/json' } });
});

test('other hosts are refused', over_tcp, async (t) => {
  const path = await things(t);
  const holder = keyed((await make_key(t, ['admin'])).key).with({ host: 'evil.example' });
  for (const operation of operations.values())
    if (operation.security.length) await holder.refused(operation.id, 403, 'denied', { path, ...sample(operation) });
});

test('other origins are refused', over_tcp, async (t) => {
  const key = await make_key(t, ['run']);
  await keyed(key.key).with({ origin: 'http://evil.example' }).refused('createSandbox', 403, 'denied', { json: {} });
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { argv: ['cat'] });
  const path = { id: sandbox.id, exec: exec.id };
  const from_elsewhere = keyed(key.key).connect('attachExec', { path, headers: { origin: 'http://evil.example' } });
  await assert.rejects(from_elsewhere, (error) => error.answer?.status === 403);
});
