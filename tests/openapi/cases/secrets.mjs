// Secrets: set, listed, used, removed; their values in no answer.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, keyed, make_key, make_sandbox, unique } from '../support/server.mjs';

const value = () => `value-of-${unique('secret')}`;
const variable = () => unique('SECRET').replaceAll(/[^A-Za-z0-9_]/g, '_');

async function make_secret(t, json) {
  const { json: secret, text } = await api.call('setSecret', { json });
  t.after(() => api.call('removeSecret', { path: { secret: json.name }, query: json.scope ?? {}, expect: [204, 404] }));
  assert.ok(!JSON.stringify(secret).includes(json.value), text);
  return secret;
}

test('a secret is set, listed without its value, replaced and removed', async (t) => {
  const name = variable();
  const made = await make_secret(t, { name, value: value() });
  assert.deepEqual([made.name, made.use, made.hosts, made.header, made.agent], [name, 'env', [], null, null]);
  const again = await make_secret(t, { name, value: value(), use: 'brokered', hosts: ['API.example.org', '*.example.org:8443'], header: 'X-Token' });
  assert.deepEqual([again.use, again.hosts, again.header], ['brokered', ['api.example.org', '*.example.org:8443'], 'x-token']);
  assert.equal(again.created_at, made.created_at);
  const { json: page } = await api.call('listSecrets', { query: { limit: 1000 } });
  assert.equal(page.items.filter((secret) => secret.name === name).length, 1);
  await api.call('removeSecret', { path: { secret: name }, expect: 204 });
  await api.refused('removeSecret', 404, 'not_found', { path: { secret: name } });
});

test('a secret of an agent is its own', async (t) => {
  const name = variable();
  await make_secret(t, { name, value: value(), scope: { agent: 'one' } });
  const names = async (query) => (await api.call('listSecrets', { query: { limit: 1000, ...query } })).json.items.filter((each) => each.name === name);
  assert.equal((await names({})).length, 1);
  assert.equal((await names({ agent: 'one' })).length, 1);
  assert.equal((await names({ agent: 'two' })).length, 0);
  await api.refused('removeSecret', 404, 'not_found', { path: { secret: name } });
});

test('what cannot be a secret is refused, and the refusal has no value', async () => {
  const hidden = 'hidden-value-of-a-refused-secret';
  const refused = async (json, status, pattern) => {
    const problem = await api.refused('setSecret', status, status === 400 ? 'invalid' : undefined, { json: { value: hidden, ...json } });
    assert.match(problem.detail, pattern);
    assert.ok(!JSON.stringify(problem).includes(hidden));
    return problem;
  };
  await refused({ name: 'not-a-name' }, 400, /not-a-name/);
  await refused({ name: 'A', value: '' }, 400, /'A': its value is empty/);
  await refused({ name: 'A', value: 'x'.repeat(1 << 20) }, 400, /'A': its value has 1048576 bytes/);
  await refused({ name: 'A', use: 'brokered' }, 400, /'A': a brokered secret needs hosts/);
  for (const host of ['*', '10.0.0.0/8', '@python', 'GET example.org', '127.0.0.1'])
    assert.match((await refused({ name: 'A', use: 'brokered', hosts: ['ok.example.org', host] }, 400, /'A'/)).pointer, /^.hosts.1/);
  await refused({ name: 'A', hosts: ['example.org'] }, 400, /only a brokered secret has hosts/);
  await refused({ name: 'A', quux: 1 }, 400, /quux/);
  await refused({ name: 'A', scope: { project: 'another' } }, 400, /project/);
});

test('an exec gets the secrets of its sandbox and its own, and their values are in no answer', async (t) => {
  const [one, two] = [variable(), variable()];
  const values = { [one]: value(), [two]: value() };
  for (const name of [one, two]) await make_secret(t, { name, value: values[name] });
  const sandbox = await make_sandbox(t, { secrets: [one] });
  assert.deepEqual(sandbox.secrets, [one]);
  const path = { id: sandbox.id };
  const run = async (shell, more) => (await api.call('createExec', { path, query: { wait: true }, json: { shell, ...more } })).json;
  const lengths = `printf %s "$${one}" | wc -c; printf %s "$${two}" | wc -c`;
  assert.equal((await run(lengths)).stdout.text, `${values[one].length}\n0\n`);
  assert.equal((await run(lengths, { secrets: [two] })).stdout.text, `${values[one].length}\n${values[two].length}\n`);
  const shown = await run(`echo $${one}; echo $${two} | base64 >&2`, { secrets: [two] });
  assert.equal(shown.stdout.text, `[secret ${one}]\n`);
  assert.match(shown.stderr.text, new RegExp(`\\[secret ${two}\\]`));
  await api.refused('createExec', 404, 'not_found', { path, json: { argv: ['true'], secrets: ['NOT_THERE'] } });
  await api.refused('createSandbox', 404, 'not_found', { json: { secrets: ['NOT_THERE'] } });
  await api.refused('startSession', 404, 'not_found', { json: { secrets: ['NOT_THERE'] } });
  await api.refused('execute', 404, 'not_found', { json: { argv: ['true'], secrets: ['NOT_THERE'] } });
});

test('naming a secret needs the scope secrets', async (t) => {
  const name = variable();
  await make_secret(t, { name, value: value() });
  const { json: sandbox } = await api.call('createSandbox', { json: { secrets: [name] }, expect: 201 });
  t.after(() => api.call('deleteSandbox', { path: { id: sandbox.id }, expect: [204, 404] }));
  const runner = keyed((await make_key(t, ['run'])).key);
  for (const [operation, json] of [['createSandbox', {}], ['startSession', {}], ['execute', { argv: ['true'] }]])
    await runner.refused(operation, 403, 'denied', { json: { ...json, secrets: [name] } });
  await runner.refused('createExec', 403, 'denied', { path: { id: sandbox.id }, json: { argv: ['true'], secrets: [name] } });
  const both = keyed((await make_key(t, ['run', 'secrets'])).key);
  const { json: result } = await both.call('execute', { json: { shell: `echo $${name}`, secrets: [name] } });
  assert.equal(result.stdout.text, `[secret ${name}]\n`);
});

test('a session has its secrets, and shares no sandbox with others', async (t) => {
  const name = variable();
  await make_secret(t, { name, value: value() });
  const agent = unique('agent');
  const start = async (secrets) => {
    const { json: session } = await api.call('startSession', { json: { agent, scope: 'agent', secrets }, expect: 201 });
    t.after(() => api.call('endSession', { path: { session: session.id }, expect: [204, 404] }));
    return { path: { session: session.id }, query: { wait: true }, json: { shell: `echo $${name}` } };
  };
  const { json: result } = await api.call('createSessionExec', await start([name]));
  assert.equal(result.stdout.text, `[secret ${name}]\n`);
  t.after(() => api.call('deleteSandbox', { path: { id: result.sandbox_id }, expect: [204, 404] }));
  await api.refused('createSessionExec', 409, 'conflict', await start([]));
});

test('the key is replaced, and secrets stay', async (t) => {
  const name = variable();
  await make_secret(t, { name, value: value() });
  await api.call('rotateSecretsKey', { expect: 204 });
  const { json: result } = await api.call('execute', { json: { shell: `echo $${name}`, secrets: [name] } });
  assert.equal(result.stdout.text, `[secret ${name}]\n`);
});
