// The server under test, from the environment: COVE_TEST_SOCKET (the path of its Unix socket), COVE_TEST_URL
// (http://HOST:PORT) with COVE_TEST_KEY (an administrator's key), or both; then a key is made where none is given.
import { Api } from './api.mjs';

const { COVE_TEST_SOCKET, COVE_TEST_URL, COVE_TEST_KEY } = process.env;
if (!COVE_TEST_SOCKET && !(COVE_TEST_URL && COVE_TEST_KEY))
  throw new Error('set COVE_TEST_SOCKET, or COVE_TEST_URL and COVE_TEST_KEY (or use tests/openapi/run)');

const url = COVE_TEST_URL ? new URL(COVE_TEST_URL) : null;
const tcp_target = url && { host: url.hostname, port: Number(url.port) };

// On the Unix socket; null where there is none.
export const socket = COVE_TEST_SOCKET ? new Api({ socketPath: COVE_TEST_SOCKET }, { host: 'localhost' }) : null;

// Over TCP without credentials; null where it does not listen there.
export const stranger = tcp_target ? new Api(tcp_target) : null;

export const keyed = (key) => stranger.with({ authorization: `Bearer ${key}` });

// An administrator of the project `default`, by whichever way there is.
export const api = socket ?? keyed(COVE_TEST_KEY);

// A new key, or COVE_TEST_KEY for an administrator where keys are what is not to be made.
export async function make_key(t, scopes, project = 'default') {
  const name = `test-${scopes.join('-')}-${Math.random().toString(36).slice(2, 8)}`;
  const { json } = await api.call('createKey', { json: { name, project, scopes }, expect: 201 });
  t.after(() => api.call('revokeKey', { path: { key: json.id }, expect: [204, 404] }));
  return json;
}

// A sandbox that is deleted after the test.
export async function make_sandbox(t, json = {}, by = api) {
  const answer = await by.call('createSandbox', { json, expect: 201 });
  t.after(() => by.call('deleteSandbox', { path: { id: answer.json.id }, expect: [204, 404] }));
  return answer.json;
}

export async function run(sandbox, json, by = api) {
  const path = { id: sandbox.id };
  return (await by.call('createExec', { path, query: { wait: true }, json, expect: 200 })).json;
}

export async function start(sandbox, json, by = api) {
  return (await by.call('createExec', { path: { id: sandbox.id }, json, expect: 201 })).json;
}

export const unique = (prefix) => `${prefix}-${Math.random().toString(36).slice(2, 10)}`;
