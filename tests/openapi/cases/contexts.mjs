import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox } from '../support/server.mjs';

const of = (context) => ({ path: { id: context.sandbox_id, context: context.id } });

async function make_context(t, json = {}) {
  const sandbox = await make_sandbox(t);
  const { json: context } = await api.call('createContext', { path: { id: sandbox.id }, json, expect: 201 });
  return context;
}

async function run(context, code, more = {}) {
  const { json } = await api.call('createExec', {
    path: { id: context.sandbox_id }, query: { wait: true }, json: { context: context.id, code, ...more }, expect: 200 });
  return json;
}

test('variables stay in a context, and its values come back', async (t) => {
  const context = await make_context(t);
  assert.equal((await run(context, 'a = 41')).results.length, 0);
  const result = await run(context, 'print("out")\na + 1');
  assert.deepEqual([result.status, result.stdout.text, result.context_id], ['success', 'out\n', context.id]);
  assert.equal(result.results[0].formats.text, '42');
  assert.equal(result.results[0].main, true);
});

test('errors of code are told with their name', async (t) => {
  const context = await make_context(t, { name: 'mine' });
  const result = await run(context, '1/0');
  assert.deepEqual([result.status, result.exit_code, result.error.name], ['error', 1, 'ZeroDivisionError']);
  assert.match(result.error.traceback, /ZeroDivisionError: division by zero/);
});

test('code that takes too long is interrupted, and the context stays', async (t) => {
  const context = await make_context(t);
  await run(context, 'b = 7');
  const late = await run(context, 'import time\ntime.sleep(60)', { timeout: '300ms' });
  assert.equal(late.status, 'timeout');
  assert.equal((await run(context, 'b')).results[0].formats.text, '7');
});

test('a context is interrupted by request', async (t) => {
  const context = await make_context(t);
  const running = run(context, 'import time\nopen("/tmp/begun", "w").close()\ntime.sleep(60)');
  await api.call('createExec', {
    path: { id: context.sandbox_id }, query: { wait: true }, json: { shell: 'until [ -e /tmp/begun ]; do sleep 0.01; done' }, expect: 200 });
  assert.equal((await api.call('getContext', { ...of(context), expect: 200 })).json.busy, true);
  await api.call('interruptContext', { ...of(context), expect: 204 });
  const result = await running;
  assert.deepEqual([result.status, result.error.name], ['error', 'KeyboardInterrupt']);
});

test('a context is listed, restarted and ended', async (t) => {
  const context = await make_context(t, { name: 'book', cwd: '/tmp', language: 'javascript', env: { A: 'b' } });
  const { json: list } = await api.call('listContexts', { path: { id: context.sandbox_id }, expect: 200 });
  assert.deepEqual(list.items.map((each) => each.id), [context.id]);
  await run(context, 'const c = process.env.A + process.cwd()');
  assert.equal((await run(context, 'c')).results[0].formats.text, "'b/tmp'");
  const { json: again } = await api.call('restartContext', { ...of(context), expect: 200 });
  assert.deepEqual([again.name, again.language, again.cwd], ['book', 'javascript', '/tmp']);
  assert.equal((await run(again, 'typeof c')).results[0].formats.text, "'undefined'");
  const sandbox = { path: { id: again.sandbox_id } };
  await api.call('pauseSandbox', { ...sandbox, expect: 200 });
  await api.call('restartContext', { ...of(again), expect: 409 });
  await api.call('resumeSandbox', { ...sandbox, expect: 200 });
  await api.call('deleteContext', { ...of(again), expect: 204 });
  await api.call('getContext', { ...of(again), expect: 404 });
});

test('code in a context is streamed', async (t) => {
  const context = await make_context(t);
  const stream = await api.stream('createExec', {
    path: { id: context.sandbox_id }, json: { context: context.id, code: 'print(1)\nprint(2)\n[3]' } });
  const events = [];
  for await (const event of stream) events.push(event);
  assert.equal(events.filter((event) => event.event === 'stdout').map((event) => event.data.text).join(''), '1\n2\n');
  assert.deepEqual(events.find((event) => event.event === 'result').data.formats.json, [3]);
  assert.equal(events.at(-1).event, 'exit');
  assert.equal(events.at(-1).data.result.status, 'success');
});

test('what is cleared or replaced is told in the stream', async (t) => {
  const context = await make_context(t);
  const code = "display(1)\nclear_output()\ndisplay(2, display_id='a')\nupdate_display(3, display_id='a')";
  const stream = await api.stream('createExec', { path: { id: context.sandbox_id }, json: { context: context.id, code } });
  const events = [];
  for await (const event of stream) events.push(event);
  assert.deepEqual(events.map((event) => event.event), ['result', 'clear', 'result', 'result', 'exit']);
  assert.deepEqual(events.slice(2, 4).map(({ data }) => [data.formats.text, data.display_id, data.update]), [['2', 'a', undefined], ['3', 'a', true]]);
  assert.deepEqual(events.at(-1).data.result.results, [{ main: false, formats: { text: '3' } }]);
});

test('the default context of a language is made when it is needed', async (t) => {
  const sandbox = await make_sandbox(t);
  const go = async (json) => (await api.call('createExec', {
    path: { id: sandbox.id }, query: { wait: true }, json: { context: 'default', ...json }, expect: 200 })).json;
  await go({ code: 'd = 5' });
  assert.equal((await go({ code: 'd', language: 'python' })).results[0].formats.text, '5');
  assert.equal((await go({ code: '2 ** 5', language: 'javascript' })).results[0].formats.text, '32');
});

test('what cannot be done in a context is refused', async (t) => {
  const sandbox = await make_sandbox(t);
  await api.call('createContext', { path: { id: sandbox.id }, json: { language: 'cobol' }, expect: 400 });
  await api.call('createExec', { path: { id: sandbox.id }, query: { wait: true }, json: { context: 'none', code: '1' }, expect: 404 });
  await api.call('createExec', { path: { id: sandbox.id }, json: { context: 'default', code: '1' }, expect: 400 });
  await api.call('stopSandbox', { path: { id: sandbox.id }, expect: 200 });
  await api.call('createContext', { path: { id: sandbox.id }, json: {}, expect: 409 });
});
