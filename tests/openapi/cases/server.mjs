// The server itself, and what it tells.
import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox, run, stranger, unique } from '../support/server.mjs';

test('it is alive and ready', async () => {
  await api.call('getLive', { expect: 200 });
  const { json } = await api.call('getReady', { expect: 200 });
  assert.equal(json.status, 'ready');
  if (stranger) for (const id of ['getLive', 'getReady']) await stranger.call(id, { expect: 200 });
});

test('it tells of its machine, settings, images and languages', async () => {
  const { json: machine } = await api.call('getMachine', { expect: 200 });
  const native = machine.runtimes.find((runtime) => runtime.name === 'native');
  assert.ok(native.available && native.default && native.capabilities.pause);
  for (const runtime of machine.runtimes) assert.ok(runtime.available || (runtime.problem && runtime.remedy), runtime.name);
  assert.ok(machine.capacity.memory_bytes > 0 && machine.capacity.cpus > 0);
  const { json: config } = await api.call('getConfig', { expect: 200 });
  const names = config.items.map((setting) => setting.name);
  for (const name of ['listen', 'state', 'workspace_roots', 'max_connections']) assert.ok(names.includes(name), name);
  const { json: images } = await api.call('listImages', { expect: 200 });
  assert.ok(images.items.some((image) => image.name === 'host'));
  const { json: languages } = await api.call('listLanguages', { expect: 200 });
  const spoken = languages.items.map((language) => language.name);
  for (const name of ['bash', 'c', 'go', 'javascript', 'python', 'typescript']) assert.ok(spoken.includes(name), name);
  const bash = languages.items.find((language) => language.name === 'bash').versions[0];
  assert.deepEqual([bash.state, bash.image, bash.command], ['ready', 'host', ['bash', '{file}']]);
});

test('it has figures for Prometheus', async () => {
  const { text } = await api.call('getMetrics', { expect: 200 });
  for (const line of text.split('\n'))
    assert.match(line, /^($|#|[a-z_:][a-z0-9_:]*(\{(\w+="[^"]*",?)+\})? [-+0-9.eEInfNa]+$)/);
  assert.match(text, /^cove_\w+_bucket\{.*le="\+Inf".*\} /m, 'a histogram');
  assert.match(text, /^cove_sandboxes\{.*state="running".*\} /m);
});

test('it tells what a project uses', async (t) => {
  const sandbox = await make_sandbox(t);
  await run(sandbox, { argv: ['true'] });
  const { json } = await api.call('getUsage', { expect: 200 });
  assert.equal(json.project, 'default');
  assert.ok(json.sandboxes >= 1);
  assert.ok(json.totals.execs >= 1);
  assert.equal(json.items, undefined);
  await api.call('deleteSandbox', { path: { id: sandbox.id }, expect: 204 });
  const of = { sandbox: sandbox.id };
  const { json: own } = await api.call('getUsage', { query: { ...of, by: 'sandbox' }, expect: 200 });
  assert.deepEqual([own.totals.execs, own.items.length, own.items[0].sandbox_id, own.next], [1, 1, sandbox.id, null]);
  assert.equal(own.items[0].duration_ms, own.totals.duration_ms);
  const { json: first } = await api.call('getUsage', { query: { by: 'sandbox', limit: 1 }, expect: 200 });
  assert.equal(first.items.length, 1);
  await api.refused('getUsage', 400, 'invalid', { query: { by: 'moon' } });
});

test('events are in order, with their sandbox and exec, and can be resumed', async (t) => {
  const before = (await all_events()).at(-1)?.seq ?? 0;
  const sandbox = await make_sandbox(t);
  const result = await run(sandbox, { argv: ['true'] });
  await api.call('deleteSandbox', { path: { id: sandbox.id }, expect: 204 });
  const own = (await all_events(before)).filter((event) => event.sandbox_id === sandbox.id);
  const kinds = own.map((event) => event.kind);
  for (const kind of ['sandbox.created', 'exec.started', 'exec.ended', 'sandbox.deleted']) assert.ok(kinds.includes(kind), kind);
  assert.ok(kinds.indexOf('sandbox.created') < kinds.indexOf('exec.started'));
  const ended = own.find((event) => event.kind === 'exec.ended');
  assert.deepEqual([ended.exec_id, ended.data.status, ended.data.exit_code], [result.exec_id, 'success', 0]);
  for (const query of [{ after: -1 }, { after: 'now' }, { limit: 0 }, { limit: 1001 }])
    await api.refused('listEvents', 400, 'invalid', { query });
});

test('events can be followed', async (t) => {
  const after = (await all_events()).at(-1)?.seq ?? 0;
  const stream = await api.stream('listEvents', { query: { after } });
  t.after(() => stream.close());
  const name = unique('followed');
  const sandbox = await make_sandbox(t, { name, start: false });
  const until = async (stream, kind) => {
    for await (const { data } of { [Symbol.asyncIterator]: () => stream })
      if (data.kind === kind && data.sandbox_id === sandbox.id) return data;
  };
  const created = await until(stream, 'sandbox.created');
  const again = await api.stream('listEvents', { headers: { 'last-event-id': String(created.seq - 1) } });
  t.after(() => again.close());
  assert.equal((await again.next()).value.data.seq, created.seq);
});

test('a sandbox expires as it was told to', async (t) => {
  const after = (await all_events()).at(-1)?.seq ?? 0;
  const stream = await api.stream('listEvents', { query: { after } });
  t.after(() => stream.close());
  const sandbox = await make_sandbox(t, { lifecycle: { max: '500ms', on_expire: 'stop' } });
  let event;
  do event = (await stream.next()).value.data;
  while (event.sandbox_id !== sandbox.id || event.kind !== 'sandbox.expired');
  const { json } = await api.call('getSandbox', { path: { id: sandbox.id }, expect: 200 });
  assert.equal(json.state, 'stopped');
  assert.notEqual(json.reason, '');
});

async function all_events(after = 0) {
  const events = [];
  for (;;) {
    const { json } = await api.call('listEvents', { query: { after, limit: 1000 }, expect: 200 });
    json.items.forEach((event) => assert.ok(event.seq > after, 'in order'));
    events.push(...json.items);
    if (json.next === null) return events;
    assert.equal(json.last_seq, json.items.at(-1).seq);
    after = json.next;
  }
}
