// Listening ports, their access, links to their previews, and connections to them.
import assert from 'node:assert/strict';
import http from 'node:http';
import test from '../support/test.mjs';
import { seen } from '../support/api.mjs';
import { api, make_sandbox, start } from '../support/server.mjs';

const of = (sandbox, port) => ({ path: { id: sandbox.id, port } });

// Sends back what it is sent, in capitals, when the other side has ended.
const SERVER = `
import socket
server = socket.create_server(('127.0.0.1', 8080))
while True:
    connection = server.accept()[0]
    data = b''
    while piece := connection.recv(4096):
        data += piece
    connection.sendall(data.upper())
    connection.close()
`;

async function make_server(t) {
  const sandbox = await make_sandbox(t);
  const ports = await api.stream('getPorts', of(sandbox));
  await start(sandbox, { argv: ['python3', '-c', SERVER] });
  const { event, data } = (await ports.next()).value;
  assert.deepEqual([event, data.port, data.access], ['open', 8080, 'private']);
  return { sandbox, ports };
}

// The socket behind 101.
function switched(sandbox, port) {
  const path = `/v1/sandboxes/${sandbox.id}/ports/${port}/connect`;
  const headers = { ...api.headers, connection: 'Upgrade', upgrade: 'tcp' };
  return new Promise((resolve, reject) => {
    const request = http.request({ ...api.target, path, headers, agent: false, timeout: 60_000 });
    request.on('upgrade', (response, socket) => resolve(socket));
    request.on('response', (response) => reject(new Error(`connectPort → ${response.statusCode}`)));
    request.on('error', reject);
    request.end();
  });
}

test('ports are listed with the process that listens', async (t) => {
  const { sandbox, ports } = await make_server(t);
  const { items } = (await api.call('getPorts', { ...of(sandbox), expect: 200 })).json;
  assert.equal(items.length, 1);
  assert.equal(items[0].address, '127.0.0.1');
  assert.match(items[0].process.command, /^python3 -c/);
  assert.match(items[0].url, new RegExp(`^http://8080-${sandbox.id}\\.localhost:\\d+/$`));
  await api.call('updatePort', { ...of(sandbox, 8080), json: { access: 'public' }, expect: 200 });
  const changed = (await ports.next()).value;
  assert.deepEqual([changed.event, changed.data.access], ['open', 'public']);
  ports.close();
});

test('ports of a sandbox that does not run cannot be listed, but their access can be chosen', async (t) => {
  const sandbox = await make_sandbox(t, { start: false });
  await api.refused('getPorts', 409, 'conflict', of(sandbox));
  await api.refused('connectPort', 409, 'conflict', { ...of(sandbox, 8080), headers: { connection: 'Upgrade', upgrade: 'tcp' } });
  assert.equal((await api.call('updatePort', { ...of(sandbox, 8080), json: { access: 'token' }, expect: 200 })).json.access, 'token');
});

test('an access or a port that makes no sense is refused', async (t) => {
  const sandbox = await make_sandbox(t, { start: false });
  for (const json of [{}, { access: 'open' }, { access: 1 }, { access: null }]) await api.refused('updatePort', 400, 'invalid', { ...of(sandbox, 80), json });
  for (const port of ['0', '65536', 'http', '-1', '80x'])
    await api.refused('updatePort', 400, 'invalid', { ...of(sandbox, port), json: { access: 'public' } });
});

test('a link is for one port', async (t) => {
  const sandbox = await make_sandbox(t, { start: false });
  const link = (await api.call('createToken', { ...of(sandbox), json: { port: 8080, ttl: '5m' }, expect: 201 })).json;
  assert.ok(link.url.startsWith(`http://8080-${sandbox.id}.localhost:`) && link.url.endsWith(`?cove_token=${link.token}`), link.url);
  for (const json of [{ port: 0 }, { port: 65536 }, { port: '80' }, { port: 80, scopes: ['run'] }, { port: 80, ttl: 0 }])
    await api.refused('createToken', 400, 'invalid', { ...of(sandbox), json });
});

test('a connection carries bytes both ways, and each end of it', async (t) => {
  const { sandbox, ports } = await make_server(t);
  ports.close();
  const socket = await switched(sandbox, 8080);
  seen.get('connectPort').add(101);
  const text = 'x'.repeat(3_000_000);
  socket.end(text);
  let back = '';
  for await (const piece of socket) back += piece;
  assert.equal(back, text.toUpperCase());
  await api.refused('connectPort', 409, 'conflict', { ...of(sandbox, 8081), headers: { connection: 'Upgrade', upgrade: 'tcp' } });
  await api.refused('connectPort', 400, 'invalid', of(sandbox, 8080));
  await api.refused('connectPort', 400, 'invalid', { ...of(sandbox, 8080), headers: { connection: 'Upgrade', upgrade: 'h2c' } });
});
