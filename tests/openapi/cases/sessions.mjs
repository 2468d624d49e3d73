import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, unique } from '../support/server.mjs';

const start = async (json = {}) => (await api.call('startSession', { json, expect: 201 })).json;
const of = (session) => ({ path: { session: session.id } });

test('a session has a sandbox of its own, and ends with it', async () => {
  const session = await start({ agent: 'a', labels: { team: 'web' }, env: { A: 'b' }, limits: { memory: '64m' }, lifecycle: { idle: '5m' } });
  const { json: result } = await api.call('createSessionExec', { ...of(session), query: { wait: true }, json: { shell: 'echo $A' }, expect: 200 });
  assert.equal(result.stdout.text, 'b\n');
  const { json: execs } = await api.call('listSessionExecs', { ...of(session), expect: 200 });
  assert.equal(execs.items.length, 1);
  const { json: exec } = await api.call('createSessionExec', { ...of(session), json: { argv: ['true'] }, expect: 201 });
  assert.equal(exec.sandbox_id, (await api.call('getSession', { ...of(session), expect: 200 })).json.sandbox_id);
  const stream = await api.stream('createSessionExec', { ...of(session), json: { argv: ['echo', 'x'] } });
  const events = [];
  for await (const event of stream) events.push(event);
  assert.equal(events.at(-1).event, 'exit');
  const { json: list } = await api.call('listSessions', { query: { agent: 'a', state: 'active' }, expect: 200 });
  assert.ok(list.items.some((each) => each.id === session.id));
  await api.call('endSession', { ...of(session), expect: 204 });
  await api.call('createSessionExec', { ...of(session), query: { wait: true }, json: { argv: ['true'] }, expect: 409 });
  await api.call('execute', { json: { session: session.id, argv: ['true'] }, expect: 409 });
});

test('one call is streamed, from its start to its result', async () => {
  const stream = await api.stream('execute', {
    json: { shell: 'read line; echo "$line"; printf "\\000"; exit 3', stdin: { open: true }, user: 'root', name: unique('one'),
      labels: { team: 'web' }, outputs: [] } });
  const { value: start } = await stream.next();
  assert.equal(start.event, 'start');
  const exec = { path: { id: start.data.sandbox_id, exec: start.data.exec_id } };
  await api.call('writeStdin', { ...exec, query: { close: true }, body: 'typed\n', headers: { 'content-type': 'application/octet-stream' }, expect: 204 });
  const events = [];
  for await (const event of stream) events.push(event);
  assert.equal(Buffer.concat(events.filter(({ event }) => event === 'stdout').map(({ data }) =>
    Buffer.from(data.text ?? data.base64, data.text === undefined ? 'base64' : 'utf8'))).toString(), 'typed\n\0');
  assert.equal(events.at(-1).data.result.exit_code, 3);
  await api.call('getSandbox', { path: { id: start.data.sandbox_id }, expect: 404 });
});

test('one call runs it all', async () => {
  const { json: result } = await api.call('execute', {
    json: { language: 'python', code: 'open("out", "w").write(open("in").read())', files: [{ path: 'in', text: 'x' }] }, expect: 200 });
  assert.deepEqual(result.files.map(({ path, text }) => [path, text]), [['out', 'x']]);
  await api.call('execute', { json: { argv: ['true'], mode: 'off' }, expect: 403 });
  await api.call('execute', { json: { argv: ['true'], session: 'nosuchthing000000000' }, expect: 404 });
  await api.call('listSessions', { query: { limit: 0 }, expect: 400 });
  const session = await start();
  await api.call('listSessionExecs', { ...of(session), query: { limit: 0 }, expect: 400 });
  await api.call('endSession', { ...of(session), expect: 204 });
});
