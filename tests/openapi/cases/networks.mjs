import assert from 'node:assert/strict';
import test from '../support/test.mjs';
import { api, make_sandbox, run } from '../support/server.mjs';

const of = (sandbox) => ({ path: { id: sandbox.id } });
const denied = { shell: 'curl --silent --max-time 20 http://b.example/' };

test('a network has rules that can be, and names the one that cannot', async (t) => {
  for (const [network, pointer] of [
    [{ allow: ['a.example', '*'] }, '/network/allow/1'],
    [{ allow: [{ host: 'a.example', ports: [0] }] }, '/network/allow/0/ports'],
    [{ block: ['@nosuchgroup'] }, '/network/block/0'],
    [{ tier: 'all' }, '/network/tier'],
  ]) {
    for (const operation of ['createSandbox', 'startSession']) {
      const problem = await api.refused(operation, 400, 'invalid', { json: { network } });
      assert.equal(problem.pointer, pointer);
    }
  }
});

test('a network is shown, changed and decided about', async (t) => {
  const made = await make_sandbox(t, { start: false, network: { allow: ['A.example', { host: 'b.example', ports: [443], methods: ['GET'] }] } });
  assert.deepEqual(made.network.allow, ['a.example', 'GET b.example:443']);
  assert.equal(made.network.tier, 'standard');
  const before = (await api.call('getNetwork', of(made))).json;
  assert.equal(before.tier, 'standard');
  assert.equal((await api.call('checkNetwork', { ...of(made), query: { host: 'a.example' } })).json.allowed, true);
  const changed = (await api.call('updateSandbox', { ...of(made), json: { network: { allow: [] } } })).json;
  assert.deepEqual(changed.network.allow, []);
  assert.ok((await api.call('getNetwork', of(made))).json.version > before.version);
  assert.equal((await api.call('checkNetwork', { ...of(made), query: { host: 'a.example' } })).json.allowed, false);
  assert.deepEqual((await api.call('listNetworkRequests', of(made))).json.items, []);
  await api.refused('decideNetworkRequest', 404, 'not_found', { ...of(made), json: { rule: 'a.example:443', approve: 'once' } });
});

test('a denial is decided about, and what was approved for good is withdrawn', async (t) => {
  const made = await make_sandbox(t, { network: { allow: ['a.example'] } });
  const result = await run(made, denied);
  assert.equal(result.denials[0]?.host, 'b.example');
  const requests = async () => (await api.call('listNetworkRequests', { ...of(made), expect: 200 })).json.items;
  const [request] = await requests();
  await api.refused('decideNetworkRequest', 409, 'conflict', { ...of(made), json: { id: request.id, rule: 'c.example', approve: 'once' } });
  await api.refused('decideNetworkRequest', 400, 'invalid', { ...of(made), json: { id: request.id } });
  const { json: decided } = await api.call('decideNetworkRequest', { ...of(made), json: { rule: request.rule, approve: 'always' }, expect: 200 });
  assert.equal(decided.state, 'approved');
  assert.equal((await requests())[0].state, 'approved');
  assert.ok((await api.call('listNetworkLog', { ...of(made), expect: 200 })).json.items.some((entry) => entry.host === 'b.example' && !entry.allowed));
  assert.deepEqual((await api.call('getLearnedRules', { ...of(made), expect: 200 })).json.rules, []);
  const { json: rules } = await api.call('listApprovedRules', { path: { project: 'default' }, expect: 200 });
  const rule = rules.items.find((each) => each.rule === request.rule);
  assert.ok(rule);
  await api.call('withdrawRule', { path: { project: 'default' }, query: { subject: rule.subject, rule: rule.rule }, expect: 204 });
});

test('the network of a session is changed, but not of one that shares its sandbox', async () => {
  const start = async (json) => (await api.call('startSession', { json, expect: 201 })).json;
  const own = await start({ network: { allow: ['a.example'] } });
  const { json: changed } = await api.call('updateSession', { path: { session: own.id }, json: { network: { enabled: false } }, expect: 200 });
  assert.equal(changed.network.enabled, false);
  const shared = await start({ agent: 'net', scope: 'agent' });
  await api.refused('updateSession', 409, 'conflict', { path: { session: shared.id }, json: { network: { allow: ['a.example'] } } });
  for (const session of [own, shared]) await api.call('endSession', { path: { session: session.id }, expect: 204 });
});
