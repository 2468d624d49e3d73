import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox, run, start, unique } from '../support/server.mjs';

const MiB = 1024 * 1024;
const of = (sandbox) => ({ path: { id: sandbox.id } });

test('a sandbox of nothing but defaults runs', async (t) => {
  const { json, headers } = await api.call('createSandbox', { json: {}, expect: 201 });
  t.after(() => api.call('deleteSandbox', of(json)));
  assert.equal(headers.location, `/v1/sandboxes/${json.id}`);
  assert.equal(json.state, 'running');
  assert.equal(json.name, null);
  assert.equal(json.image, 'host');
  assert.equal(json.project, 'default');
  assert.deepEqual(json.network, { tier: 'sandbox', enabled: false, allow: [], block: [], budget: { bytes: 0, connections: 0 }, learn: false });
  assert.equal(json.workspace, null);
  assert.notEqual(json.started_at, null);
  const again = await api.call('getSandbox', { ...of(json), expect: 200 });
  assert.equal(again.json.id, json.id);
});

test('a sandbox that is held goes with its holder', async () => {
  const held = await api.stream('createSandbox', { json: {} });
  const { value: made } = await held.next();
  assert.equal(made.event, 'sandbox');
  await api.refused('stopSandbox', 409, 'conflict', { ...of(made.data), json: {} });
  held.close();
  for (let status = 200; status !== 404;) ({ status } = await api.call('getSandbox', of(made.data)));
});

test('a sandbox has what was asked for', async (t) => {
  const name = unique('all');
  const made = await make_sandbox(t, {
    image: 'host',
    name,
    labels: { team: 'web' },
    env: { GREETING: 'hi' },
    user: 'user',
    limits: { cpus: 0.5, memory: '256m', processes: 100, timeout: '5s', grace: 500, output: '1m', retained: 4096 },
    network: { tier: 'restricted', enabled: false, block: ['example.org'], budget: { bytes: '1m' } },
    lifecycle: { idle: '10m', max: 3_600_000, on_expire: 'delete', auto_resume: false },
    runtime: 'native',
    nesting: true,
    strict: false,
    start: true,
  });
  assert.equal(made.name, name);
  assert.deepEqual(made.labels, { team: 'web' });
  assert.deepEqual(made.env, { GREETING: 'hi' });
  assert.equal(made.limits.cpus, 0.5);
  assert.equal(made.limits.memory_bytes, 256 * MiB);
  assert.equal(made.limits.processes, 100);
  assert.equal(made.limits.timeout_ms, 5000);
  assert.equal(made.limits.grace_ms, 500);
  assert.equal(made.limits.output_bytes, MiB);
  assert.equal(made.limits.retained_bytes, 4096);
  assert.deepEqual(made.lifecycle, { idle_ms: 600_000, max_ms: 3_600_000, on_expire: 'delete', auto_resume: false });
  assert.equal(made.nesting, true);
  assert.deepEqual(made.network, {
    tier: 'restricted',
    enabled: false,
    allow: [],
    block: ['example.org'],
    budget: { bytes: MiB, connections: 0 },
    learn: false,
  });
  assert.notEqual(made.expires_at, null);
  assert.ok('memory' in made.enforced);
  const by_name = await api.call('getSandbox', { path: { id: name }, expect: 200 });
  assert.equal(by_name.json.id, made.id);
  const result = await run(made, { shell: 'echo $GREETING' });
  assert.equal(result.stdout.text, 'hi\n');
});

test('a sandbox that is not to start is stopped', async (t) => {
  const made = await make_sandbox(t, { start: false, network: {} });
  assert.equal(made.state, 'stopped');
  assert.equal(made.started_at, null);
});

test('a name is taken once', async (t) => {
  const { name } = await make_sandbox(t, { name: unique('taken'), start: false });
  await api.refused('createSandbox', 409, 'exists', { json: { name, start: false } });
  const other = await make_sandbox(t, { start: false });
  await api.refused('updateSandbox', 409, 'exists', { ...of(other), json: { name } });
});

test('an idempotency key makes one sandbox', async (t) => {
  const headers = { 'idempotency-key': unique('once') };
  const json = { labels: { a: '1' }, start: false };
  const first = await api.call('createSandbox', { headers, json, expect: 201 });
  t.after(() => api.call('deleteSandbox', of(first.json)));
  const second = await api.call('createSandbox', { headers, json, expect: 201 });
  assert.equal(second.json.id, first.json.id);
  assert.equal(second.headers.location, first.headers.location);
  await api.refused('createSandbox', 409, 'idempotency_mismatch', { headers, json: { labels: { a: '2' }, start: false } });
});

test('what makes no sense is refused, and named', async () => {
  const bad = [
    [{ imagge: 'host' }, /imagge/],
    [{ name: 'no spaces here' }, /name/],
    [{ name: 7 }, /name/],
    [{ labels: ['a'] }, /labels/],
    [{ labels: { a: 1 } }, /a/],
    [{ limits: { memory: 'lots' } }, /memory/],
    [{ limits: { memori: '1g' } }, /memori/],
    [{ limits: { timeout: '5 parsecs' } }, /timeout/],
    [{ limits: { cpus: -1 } }, /cpus/],
    [{ lifecycle: { on_expire: 'explode' } }, /on_expire|explode/],
    [{ network: 'everything' }, /network/],
    [{ network: { tier: 'everything' } }, /tier|everything/],
    [{ workspace: { path: '/tmp', access: 'some' } }, /access|some/],
    [{ runtime: 'imaginary' }, /runtime|imaginary/],
    [{ start: 'yes' }, /start/],
  ];
  for (const [json, named] of bad) {
    const problem = await api.refused('createSandbox', 400, 'invalid', { json });
    assert.match(`${problem.detail} ${problem.hint ?? ''}`, named);
  }
  const typo = await api.refused('createSandbox', 400, 'invalid', { json: { lifecycel: {} } });
  assert.match(`${typo.detail} ${typo.hint ?? ''}`, /lifecycle/, 'the nearest field is suggested');
});

test('an image that is not there is not found', () =>
  api.refused('createSandbox', 404, 'not_found', { json: { image: 'no-such-image' } }));

test('lists have pages and filters', async (t) => {
  const mark = unique('list');
  const made = [];
  for (const state of ['a', 'b', 'c'])
    made.push(await make_sandbox(t, { labels: { mark, state }, name: `${mark}-${state}`, start: state === 'a' }));
  const list = async (query) => (await api.call('listSandboxes', { query: { label: `mark=${mark}`, ...query }, expect: 200 })).json;
  const ids = (answer) => answer.items.map((sandbox) => sandbox.id);

  assert.deepEqual(ids(await list({})).sort(), made.map((sandbox) => sandbox.id).sort());
  assert.equal((await list({})).next, null);
  const walked = [];
  for (let after; after !== null; ) {
    const page = await list(after === undefined ? { limit: 1 } : { limit: 1, after });
    assert.ok(page.items.length <= 1);
    walked.push(...ids(page));
    after = page.next;
  }
  assert.deepEqual(walked.sort(), made.map((sandbox) => sandbox.id).sort());
  assert.deepEqual(ids(await list({ state: 'running' })), [made[0].id]);
  assert.deepEqual(ids(await list({ label: [`mark=${mark}`, 'state=b'] })), [made[1].id]);
  assert.deepEqual(ids(await list({ name: `${mark}-c` })), [made[2].id]);
  assert.deepEqual(ids(await list({ label: `mark=${mark}-none` })), []);
});

test('lists refuse parameters that make no sense', async () => {
  for (const query of [{ limit: 0 }, { limit: 1001 }, { limit: 'ten' }, { after: '!' }, { state: 'asleep' }, { label: 'no-value' }])
    await api.refused('listSandboxes', 400, 'invalid', { query });
});

test('a sandbox can be changed while it runs', async (t) => {
  const made = await make_sandbox(t, { labels: { a: '1', b: '2' }, env: { A: '1', B: '2' } });
  const patch = async (json) => (await api.call('updateSandbox', { ...of(made), json, expect: 200 })).json;

  const labelled = await patch({ labels: { b: null, c: '3' } });
  assert.deepEqual([labelled.labels, labelled.env], [{ a: '1', c: '3' }, made.env]);
  const set = await patch({ env: { B: null, C: '3' } });
  assert.deepEqual([set.env, set.labels], [{ A: '1', C: '3' }, labelled.labels]);
  assert.equal((await run(made, { shell: 'echo $A-$B-$C' })).stdout.text, '1--3\n');
  const name = unique('renamed');
  assert.equal((await patch({ name })).name, name);
  assert.equal((await patch({ name: null })).name, null);
  const limited = await patch({ limits: { memory: '512m', timeout: 9000 } });
  assert.equal(limited.limits.memory_bytes, 512 * MiB);
  assert.equal(limited.limits.timeout_ms, 9000);
  const timed = await patch({ lifecycle: { idle: '20m', on_expire: 'pause' } });
  assert.equal(timed.lifecycle.idle_ms, 1_200_000);
  assert.equal(timed.lifecycle.on_expire, 'pause');
  assert.equal((await patch({ lifecycle: { idle: null, max: null } })).expires_at, null);
  assert.equal((await api.call('getSandbox', of(made))).json.limits.memory_bytes, 512 * MiB);
  await api.refused('updateSandbox', 400, 'invalid', { ...of(made), json: { image: 'host' } });
});

test('states follow each other as documented', async (t) => {
  const made = await make_sandbox(t, { lifecycle: { auto_resume: false } });
  const becomes = async (id, state, json) => {
    const answer = await api.call(id, { ...of(made), ...(json && { json }), expect: 200 });
    assert.equal(answer.json.state, state);
  };
  const conflict = (id, request = {}) => api.refused(id, 409, 'conflict', { ...of(made), ...request });
  await api.call('writeFile', { ...of(made), query: { path: 'kept' }, body: 'kept', expect: 201 });

  await becomes('startSandbox', 'running');
  await becomes('resumeSandbox', 'running', {});
  await becomes('pauseSandbox', 'paused');
  await becomes('pauseSandbox', 'paused', {});
  assert.match((await conflict('startSandbox')).detail, /paused/);
  await conflict('createExec', { json: { argv: ['true'] } });
  await becomes('resumeSandbox', 'running');
  await becomes('stopSandbox', 'stopped', { grace: '100ms' });
  await becomes('stopSandbox', 'stopped');
  await conflict('pauseSandbox');
  await conflict('resumeSandbox');
  await conflict('createExec', { json: { argv: ['true'] } });
  await becomes('startSandbox', 'running', {});
  const kept = await api.call('readFile', { ...of(made), query: { path: 'kept' }, expect: 200 });
  assert.equal(kept.text, 'kept');
  await becomes('pauseSandbox', 'paused');
  await becomes('stopSandbox', 'stopped');
  await api.refused('stopSandbox', 400, 'invalid', { ...of(made), json: { grace: 'soon' } });
});

test('a paused or stopped sandbox wakes on use where it may', async (t) => {
  const made = await make_sandbox(t, { lifecycle: { auto_resume: true } });
  for (const id of ['pauseSandbox', 'stopSandbox']) {
    await api.call(id, { ...of(made), expect: 200 });
    assert.equal((await run(made, { argv: ['echo', 'awake'] })).stdout.text, 'awake\n');
    assert.equal((await api.call('getSandbox', of(made))).json.state, 'running');
  }
});

test('a sandbox can be renewed', async (t) => {
  const made = await make_sandbox(t, { lifecycle: { max: '1m' } });
  const renew = async (json) => (await api.call('renewSandbox', { ...of(made), json, expect: 200 })).json;
  const longer = await renew({ max: '1h' });
  assert.ok(Date.parse(longer.expires_at) - Date.parse(made.expires_at) > 50 * 60_000);
  assert.equal((await renew({ idle: 300_000 })).lifecycle.idle_ms, 300_000);
  await renew({});
  await api.refused('renewSandbox', 400, 'invalid', { ...of(made), json: { max: 'forever' } });
});

test('a sandbox tells what it uses', async (t) => {
  const made = await make_sandbox(t, { limits: { memory: '256m' } });
  await run(made, { shell: 'head -c 1000000 /dev/zero > zeros' });
  await start(made, { argv: ['sleep', '60'] });
  let json;
  // It counts as soon as process 1 has started it.
  for (let looks = 0; looks < 500 && !(json?.processes >= 1); ++looks) ({ json } = await api.call('getStats', { ...of(made), expect: 200 }));
  assert.equal(json.memory_limit_bytes, 256 * MiB);
  assert.equal(json.cpus, made.limits.cpus);
  assert.ok(json.disk_bytes >= 900_000, `${json.disk_bytes}`);
  assert.ok(json.processes >= 1);
});

test('a deleted sandbox is gone', async (t) => {
  const made = await make_sandbox(t);
  const answer = await api.call('deleteSandbox', { ...of(made), expect: 204 });
  assert.equal(answer.bytes.length, 0);
  await api.refused('getSandbox', 404, 'not_found', of(made));
  await api.refused('deleteSandbox', 404, 'not_found', of(made));
});
