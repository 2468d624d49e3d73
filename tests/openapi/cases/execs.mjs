import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox, run, start, unique } from '../support/server.mjs';

const of = (exec) => ({ path: { id: exec.sandbox_id, exec: exec.id } });
const base64 = (text) => Buffer.from(text, 'latin1').toString('base64');

// All of a stream, until its end.
async function collect(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

const text_of = (events, name) => events.filter((event) => event.event === name).map((event) => event.data.text).join('');

function assert_numbered(events, first = 1) {
  events.forEach((event, at) => assert.equal(event.data.seq, first + at));
  assert.equal(events.at(-1).event, 'exit');
}

test('a command runs, and its result comes back', async (t) => {
  const sandbox = await make_sandbox(t);
  const result = await run(sandbox, { argv: ['sh', '-c', 'echo out; echo err >&2; exit 3'] });
  assert.equal(result.status, 'error');
  assert.equal(result.exit_code, 3);
  assert.equal(result.stdout.text, 'out\n');
  assert.equal(result.stderr.text, 'err\n');
  assert.equal(result.sandbox_id, sandbox.id);
});

test('a command can be given in all its forms', async (t) => {
  const sandbox = await make_sandbox(t);
  const prints = async (json, text) => assert.equal((await run(sandbox, json)).stdout.text, text);
  await prints({ shell: 'echo $((6*7))' }, '42\n');
  await prints({ code: 'print(6*7)', language: 'python' }, '42\n');
  await prints({ code: 'console.log(6*7)', language: 'javascript' }, '42\n');
  await prints({ code: 'echo ${BASH_VERSION:+bash}', language: 'bash' }, 'bash\n');
  await prints({ code: 'echo $1', language: 'sh', args: ['given'] }, 'given\n');
  await prints({ argv: ['cat'], stdin: 'text' }, 'text');
  await prints({ argv: ['cat'], stdin: { base64: base64('bytes') } }, 'bytes');
  await prints({ argv: ['cat'] }, '');
  await prints({ argv: ['cat'], stdin: null }, '');
  await prints({ shell: 'echo $A $PWD', env: { A: 'b' }, cwd: '/tmp' }, 'b /tmp\n');
  await prints({ argv: ['id', '-un'], user: 'root' }, 'root\n');
  await prints({ argv: ['echo', 'x'], limits: { timeout: '10s' }, tag: 'a tag', detach: false, on_disconnect: 'kill' }, 'x\n');
});

test('results tell how it ended', async (t) => {
  const sandbox = await make_sandbox(t);
  const missing = await run(sandbox, { argv: ['/no/such/program'] });
  assert.deepEqual([missing.status, missing.exit_code], ['error', 127]);
  const late = await run(sandbox, { argv: ['sleep', '60'], timeout: '200ms' });
  assert.equal(late.status, 'timeout');
  const slow = await run(sandbox, { argv: ['sleep', '60'], limits: { timeout: 200, grace: 100 } });
  assert.equal(slow.status, 'timeout');
  const killed = await run(sandbox, { shell: 'kill -9 $$' });
  assert.deepEqual([killed.status, killed.exit_code, killed.signal], ['killed', null, 9]);
  const loud = await run(sandbox, { shell: 'yes', limits: { output: '10k' } });
  assert.equal(loud.status, 'limit_exceeded');
  const binary = await run(sandbox, { shell: "printf '\\377\\376'" });
  assert.equal(binary.stdout.base64, base64('\xff\xfe'));
  const long = await run(sandbox, { shell: 'head -c 100000 /dev/zero | tr "\\0" x', limits: { retained: 1000 } });
  assert.deepEqual([long.stdout.truncated, long.stdout.bytes], [true, 100000]);
});

test('commands that make no sense are refused', async (t) => {
  const sandbox = await make_sandbox(t);
  const path = { id: sandbox.id };
  const bad = [
    {}, { argv: [] }, { argv: 'ls' }, { argv: ['ls'], shell: 'ls' }, { code: 'x' }, { language: 'python' }, { argv: ['ls'], pty: {} },
    { argv: ['ls'], pty: { rows: 0, cols: 80 } }, { argv: ['ls'], timeout: 'soon' }, { argv: ['ls'], stdin: { base64: '!' } },
    { argv: ['ls'], on_disconnect: 'weep' }, { argv: ['ls'], enviroment: {} }, { argv: ['a\u0000b'] },
  ];
  for (const json of bad) await api.refused('createExec', 400, 'invalid', { path, json });
  await api.call('createExec', { path, json: { argv: ['ls'], limits: { memory: '1g' } }, expect: [400, 422] });
  const typo = await api.call('createExec', { path, json: { code: 'x', language: 'pyton' }, expect: [400, 404] });
  assert.match(`${typo.json.detail} ${typo.json.hint ?? ''}`, /python/);
  await api.refused('createExec', 400, 'invalid', { path, query: { wait: 'maybe' }, json: { argv: ['ls'] } });
});

test('an exec goes on by itself and takes input', async (t) => {
  const sandbox = await make_sandbox(t);
  const { json: exec, headers } = await api.call('createExec', {
    path: { id: sandbox.id }, json: { argv: ['cat'], tag: 'echo' }, expect: 201,
  });
  assert.equal(headers.location, `/v1/sandboxes/${sandbox.id}/execs/${exec.id}`);
  assert.deepEqual([exec.state, exec.tag, exec.argv, exec.shell, exec.pty, exec.result], ['running', 'echo', ['cat'], null, null, null]);

  await api.call('writeStdin', { ...of(exec), body: 'raw ', headers: { 'content-type': 'application/octet-stream' }, expect: 204 });
  await api.call('writeStdin', { ...of(exec), json: { text: 'text ' }, expect: 204 });
  await api.call('writeStdin', { ...of(exec), json: { base64: base64('base64\n') }, expect: 204 });
  await api.call('writeStdin', { ...of(exec), query: { close: true }, expect: 204 });
  const events = await collect(await api.stream('getOutput', of(exec)));
  assert.equal(text_of(events, 'stdout'), 'raw text base64\n');
  assert_numbered(events);

  const { json: ended } = await api.call('getExec', { ...of(exec), expect: 200 });
  assert.equal(ended.state, 'ended');
  assert.equal(ended.result.status, 'success');
  assert.notEqual(ended.ended_at, null);
  await api.refused('writeStdin', 409, 'conflict', { ...of(exec), json: { text: 'late' } });
});

test('input that is closed in one go, or is nonsense', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { argv: ['cat'] });
  await api.refused('writeStdin', 400, 'invalid', { ...of(exec), json: { text: 'a', base64: 'YQ==' } });
  await api.refused('writeStdin', 400, 'invalid', { ...of(exec), json: { base64: '?' } });
  await api.call('writeStdin', { ...of(exec), json: { text: 'all', close: true }, expect: 204 });
  assert.equal(text_of(await collect(await api.stream('getOutput', of(exec))), 'stdout'), 'all');
  const given = await start(sandbox, { argv: ['cat'], stdin: 'given' });
  assert.equal(text_of(await collect(await api.stream('getOutput', of(given))), 'stdout'), 'given');
});

test('execs are listed by state and tag, in pages', async (t) => {
  const sandbox = await make_sandbox(t);
  const ended = await run(sandbox, { argv: ['true'], tag: 'one' });
  const running = await start(sandbox, { argv: ['cat'], tag: 'two' });
  const list = async (query) => (await api.call('listExecs', { path: { id: sandbox.id }, query, expect: 200 })).json;
  const ids = (answer) => answer.items.map((exec) => exec.id);
  assert.deepEqual(ids(await list({})).sort(), [ended.exec_id, running.id].sort());
  assert.deepEqual(ids(await list({ state: 'running' })), [running.id]);
  assert.deepEqual(ids(await list({ state: 'ended' })), [ended.exec_id]);
  assert.deepEqual(ids(await list({ tag: 'two' })), [running.id]);
  const first = await list({ limit: 1 });
  const second = await list({ limit: 1, after: first.next });
  assert.deepEqual([...ids(first), ...ids(second)].sort(), [ended.exec_id, running.id].sort());
  assert.equal(second.next, null);
  for (const query of [{ state: 'lost' }, { limit: 0 }, { after: '!' }])
    await api.refused('listExecs', 400, 'invalid', { path: { id: sandbox.id }, query });
});

test('a stream has all output, numbered, then the result', async (t) => {
  const sandbox = await make_sandbox(t);
  const stream = await api.stream('createExec', {
    path: { id: sandbox.id }, json: { shell: "echo out; echo err >&2; printf '\\377'; exit 2", stdin: null },
  });
  const events = await collect(stream);
  assert_numbered(events);
  assert.equal(text_of(events, 'stderr'), 'err\n');
  const out = events.filter((event) => event.event === 'stdout').map(({ data }) =>
    'text' in data ? Buffer.from(data.text) : Buffer.from(data.base64, 'base64'));
  assert.equal(Buffer.concat(out).toString('latin1'), 'out\n\xff');
  assert.equal(events.at(-1).data.result.exit_code, 2);
});

test('output can be read again from a number on', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { shell: 'read a; echo 1 $a; read b; echo 2 $b' });
  const live = await api.stream('getOutput', of(exec));
  await api.call('writeStdin', { ...of(exec), json: { text: 'x\n' }, expect: 204 });
  const { value: first } = await live.next();
  assert.deepEqual([first.event, first.data], ['stdout', { seq: 1, text: '1 x\n' }]);
  live.close();

  const { json: so_far } = await api.call('getOutput', { ...of(exec), expect: 200 });
  assert.deepEqual(so_far.chunks, [{ seq: 1, stream: 'stdout', text: '1 x\n' }]);
  assert.deepEqual([so_far.exec_id, so_far.next, so_far.ended, so_far.result], [exec.id, 2, false, null]);

  await api.call('writeStdin', { ...of(exec), json: { text: 'y\n' }, expect: 204 });
  const resumed = await collect(await api.stream('getOutput', { ...of(exec), headers: { 'last-event-id': '1' } }));
  assert_numbered(resumed, 2);
  assert.equal(text_of(resumed, 'stdout'), '2 y\n');
  const from = await collect(await api.stream('getOutput', { ...of(exec), query: { from: 2 } }));
  assert.deepEqual(from.map((event) => event.id), resumed.map((event) => event.id));
  const { json: all } = await api.call('getOutput', { ...of(exec), query: { from: 2 }, expect: 200 });
  assert.equal(all.ended, true);
  assert.deepEqual(all.chunks.map((chunk) => chunk.text), ['2 y\n']);
  assert.equal(all.result.status, 'success');
  const { json: end } = await api.call('getOutput', { ...of(exec), query: { from: all.next }, expect: 200 });
  assert.deepEqual([end.chunks, end.ended], [[], true]);
  for (const query of [{ from: 0 }, { from: 'start' }]) await api.refused('getOutput', 400, 'invalid', { ...of(exec), query });
});

test('signals reach an exec', async (t) => {
  const sandbox = await make_sandbox(t);
  for (const [json, number] of [[{ signal: 'TERM' }, 15], [{ signal: 'SIGINT', group: false }, 2], [{ signal: 10, group: true }, 10]]) {
    const exec = await start(sandbox, { argv: ['sleep', '60'] });
    await api.call('signalExec', { ...of(exec), json, expect: 204 });
    const events = await collect(await api.stream('getOutput', of(exec)));
    assert.equal(events.at(-1).data.result.signal, number);
    await api.refused('signalExec', 409, 'conflict', { ...of(exec), json });
  }
  const exec = await start(sandbox, { argv: ['sleep', '60'] });
  for (const json of [{}, { signal: 'NONSENSE' }, { signal: 0 }, { signal: 1000 }, { signal: 'TERM', grup: true }])
    await api.refused('signalExec', 400, 'invalid', { ...of(exec), json });
});

test('an exec can be killed, once', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { shell: 'setsid sleep 61 & echo ready; exec sleep 60' });
  const output = await api.stream('getOutput', of(exec));
  assert.equal((await output.next()).value.data.text, 'ready\n');
  output.close();
  const { json: result } = await api.call('killExec', { ...of(exec), expect: 200 });
  assert.deepEqual([result.status, result.signal, result.exec_id], ['killed', 9, exec.id], JSON.stringify(result));
  const { json: again } = await api.call('killExec', { ...of(exec), expect: 200 });
  assert.deepEqual(again, result);
});

test('a terminal has a size that can be changed', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { shell: 'stty size; until [ "$(stty size)" = "40 120" ]; do sleep 0.02; done; stty size', pty: { rows: 30, cols: 100 } });
  assert.deepEqual(exec.pty, { rows: 30, cols: 100 });
  await api.call('resizeExec', { ...of(exec), json: { rows: 40, cols: 120 }, expect: 204 });
  const events = await collect(await api.stream('getOutput', of(exec)));
  assert.match(text_of(events, 'stdout'), /40 120/);
  await api.refused('resizeExec', 409, 'conflict', { ...of(exec), json: { rows: 1, cols: 1 } });

  const plain = await start(sandbox, { argv: ['cat'] });
  await api.refused('resizeExec', 409, 'conflict', { ...of(plain), json: { rows: 40, cols: 120 } });
  for (const json of [{}, { rows: 10 }, { rows: 0, cols: 0 }, { rows: 'many', cols: 1 }])
    await api.refused('resizeExec', 400, 'invalid', { ...of(plain), json });
});

test('a WebSocket carries input and output', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { shell: 'cat; echo end >&2' });
  const connection = await api.connect('attachExec', of(exec));
  connection.send(Buffer.from('binary\n'));
  assert.deepEqual(await connection.next(), { stream: 'stdout', seq: 1, data: Buffer.from('binary\n') });
  connection.send({ type: 'stdin', text: 'text\n' });
  assert.equal((await connection.next()).data.toString(), 'text\n');
  connection.send({ type: 'stdin', base64: base64('more\n') });
  assert.equal((await connection.next()).data.toString(), 'more\n');
  connection.send({ type: 'close_stdin' });
  assert.deepEqual(await connection.next(), { stream: 'stderr', seq: 4, data: Buffer.from('end\n') });
  const exit = await connection.next();
  assert.deepEqual([exit.type, exit.seq, exit.result.status], ['exit', 5, 'success']);
  assert.deepEqual(await connection.next(), { closed: 1000 });

  const late = await api.connect('attachExec', { ...of(exec), query: { from: 4 } });
  assert.equal((await late.next()).seq, 4);
  assert.equal((await late.next()).type, 'exit');
  assert.deepEqual(await late.next(), { closed: 1000 });
});

test('a WebSocket resizes and signals', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { shell: "trap 'stty size' WINCH; echo ready; while :; do read x; done", pty: { rows: 24, cols: 80 } });
  const connection = await api.connect('attachExec', of(exec));
  let printed = '';
  const until = async (pattern) => {
    while (!pattern.test(printed)) printed += (await connection.next()).data;
  };
  await until(/ready/);
  connection.send({ type: 'resize', rows: 33, cols: 99 });
  connection.send(Buffer.from('\n'));
  await until(/33 99/);
  connection.send({ type: 'signal', signal: 'KILL', group: true });
  let message = await connection.next();
  while (message.type !== 'exit') message = await connection.next();
  assert.equal(message.result.signal, 9);
});

test('a WebSocket says what was wrong', async (t) => {
  const sandbox = await make_sandbox(t);
  const exec = await start(sandbox, { argv: ['cat'] });
  for (const text of ['not json', '{"type":"dance"}', '{"type":"resize","rows":1,"cols":1}']) {
    const connection = await api.connect('attachExec', of(exec));
    connection.send_text(text);
    assert.equal((await connection.next()).type, 'error', text);
    connection.close();
  }
  await api.refused('attachExec', 400, 'invalid', of(exec));
  await assert.rejects(api.connect('attachExec', { path: { id: sandbox.id, exec: unique('none') } }), (error) => error.answer?.status === 404);
});
