// Images, fetched from a registry that has one: small enough to be written here.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { after } from 'node:test';
import test from '../support/test.mjs';
import { api, make_sandbox, unique } from '../support/server.mjs';

const digest = (data) => `sha256:${createHash('sha256').update(data).digest('hex')}`;
const layer = Buffer.alloc(1024); // an archive without entries
const config = Buffer.from(JSON.stringify({ os: 'linux', rootfs: { type: 'layers', diff_ids: [digest(layer)] }, config: { Cmd: ['/bin/none'] } }));
const manifest = Buffer.from(JSON.stringify({
  schemaVersion: 2,
  mediaType: 'application/vnd.oci.image.manifest.v1+json',
  config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: digest(config), size: config.length },
  layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest: digest(layer), size: layer.length }],
}));
const answers = new Map([['manifests/1', manifest], [`blobs/${digest(config)}`, config], [`blobs/${digest(layer)}`, layer]]);

const registry = createServer((request, response) => {
  if (request.url.startsWith('/v2/closed/')) return response.writeHead(403).end();
  const found = answers.get(request.url.replace('/v2/tiny/', ''));
  response.writeHead(found ? 200 : 404).end(found);
});
await new Promise((resolve) => registry.listen(0, '127.0.0.1', resolve));
after(() => registry.close());
const host = `127.0.0.1:${registry.address().port}`;
const name = `${host}/tiny:1`;

test('an image is fetched, looked at, named, checked, used and removed', async (t) => {
  const { json: operation } = await api.call('pullImage', { json: { reference: name }, expect: 202 });
  const stream = await api.stream('getOperation', { path: { operation: operation.id } });
  let last;
  for await (const event of stream) last = event;
  assert.deepEqual([last.event, last.data.state, last.data.layers.length], ['end', 'succeeded', 1]);
  const { json: done } = await api.call('getOperation', { path: { operation: operation.id }, expect: 200 });
  assert.equal(done.result.digest, digest(manifest));
  assert.deepEqual([done.progress.done_bytes, done.progress.total_bytes], [layer.length, layer.length]);
  const again = await api.stream('getOperation', { path: { operation: operation.id }, headers: { 'last-event-id': last.id } });
  assert.equal((await again.next()).value.event, 'end');
  const { json: pulls } = await api.call('listOperations', { query: { kind: 'pull', state: 'succeeded', limit: 1000 }, expect: 200 });
  assert.ok(pulls.items.some((each) => each.id === operation.id));
  await api.refused('cancelOperation', 409, 'conflict', { path: { operation: operation.id } });
  for (const query of [{ state: 'odd' }, { kind: 'odd' }, { after: 'odd' }])
    await api.refused('listOperations', 400, 'invalid', { query });
  const { json: image } = await api.call('pullImage', { query: { wait: true }, json: { reference: name, login: { username: 'a', password: 'b' } }, expect: 200 });
  assert.deepEqual([image.names, image.config.cmd], [[name], ['/bin/none']]);
  const second = `${unique('tiny').toLowerCase()}:2`;
  await api.call('tagImage', { path: { image: name }, json: { name: second }, expect: 200 });
  assert.equal((await api.call('getImage', { path: { image: second }, expect: 200 })).json.digest, image.digest);
  assert.equal((await api.call('verifyImage', { path: { image: name }, expect: 200 })).json.ok, true);
  await api.refused('tagImage', 409, 'conflict', { path: { image: 'host' }, json: { name: second } });
  await api.refused('verifyImage', 409, 'conflict', { path: { image: 'host' } });
  const sandbox = await make_sandbox(t, { image: name });
  assert.deepEqual([sandbox.image, sandbox.user, sandbox.image_defaults.cmd], [`${name}@${image.digest}`, 'root', ['/bin/none']]);
  await api.call('deleteImage', { path: { image: name }, expect: 200 });
  await api.refused('deleteImage', 409, 'conflict', { path: { image: second } });
  await api.call('deleteSandbox', { path: { id: sandbox.id }, expect: 204 });
  const { json: gone } = await api.call('deleteImage', { path: { image: second }, query: { force: true }, expect: 200 });
  assert.deepEqual(gone.digests, [image.digest]);
  await api.refused('getImage', 404, 'not_found', { path: { image: name } });
});

test('what a registry does not have, or give, is told', async () => {
  const wait = { query: { wait: true } };
  await api.refused('pullImage', 404, 'not_found', { ...wait, json: { reference: `${host}/tiny:2` } });
  await api.refused('pullImage', 403, 'denied', { ...wait, json: { reference: `${host}/closed:1` } });
  for (const json of [{}, { reference: 'No Name' }, { reference: name, platform: 'amd64' }])
    await api.refused('pullImage', 400, 'invalid', { json });
});

test('archives are loaded and imported', async () => {
  const body = layer;
  const { json: image } = await api.call('importImage', { query: { name: 'imported-here' }, body, expect: 201 });
  assert.deepEqual(image.names, ['imported-here:latest']);
  await api.refused('importImage', 400, 'invalid', { query: { name: 'host' }, body });
  await api.refused('importImage', 400, 'invalid', { query: { name: 'x' }, body: Buffer.from('no archive at all') });
  await api.refused('loadImages', 400, 'invalid', { body: Buffer.from('no archive at all') });
  const { json: loaded } = await api.call('loadImages', { body: layout(), expect: 200 });
  assert.deepEqual(loaded.items.map((each) => each.digest), [digest(manifest)]);
  for (const kind of ['load', 'import']) {
    const { json } = await api.call('listOperations', { query: { kind, limit: 1000 }, expect: 200 });
    assert.deepEqual([...new Set(json.items.map((each) => each.state))].sort(), ['failed', 'succeeded'], kind);
    assert.equal(json.items.find((each) => each.error).error.code, 'invalid');
  }
  const { json: pruned } = await api.call('pruneImages', { json: { all: true }, expect: 200 });
  assert.ok(pruned.digests.includes(image.digest) && pruned.digests.includes(digest(manifest)));
});

test('a pull is cancelled', async () => {
  let asked;
  const waiting = new Promise((resolve) => (asked = resolve));
  const slow = createServer((request, response) => {
    if (request.url === '/v2/') return response.writeHead(200).end();
    asked();
  });
  await new Promise((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const reference = `127.0.0.1:${slow.address().port}/slow:1`;
  const { json: operation } = await api.call('pullImage', { json: { reference }, expect: 202 });
  await waiting;
  const { json: told } = await api.call('cancelOperation', { path: { operation: operation.id }, expect: 202 });
  assert.equal(told.id, operation.id);
  slow.closeAllConnections();
  slow.close();
  const stream = await api.stream('getOperation', { path: { operation: operation.id } });
  let last;
  for await (const event of stream) last = event;
  assert.deepEqual([last.event, last.data.state, last.data.error], ['end', 'cancelled', null]);
});

test('the image host stays', async () => {
  await api.refused('deleteImage', 409, 'conflict', { path: { image: 'host' } });
  assert.equal((await api.call('getImage', { path: { image: 'host' }, expect: 200 })).json.digest, null);
});

// An OCI layout as tar.
function layout() {
  const index = JSON.stringify({ schemaVersion: 2, manifests: [{ mediaType: 'application/vnd.oci.image.manifest.v1+json', digest: digest(manifest), size: manifest.length }] });
  const files = [['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')], ['index.json', Buffer.from(index)]];
  for (const blob of [manifest, config, layer]) files.push([`blobs/sha256/${digest(blob).slice(7)}`, blob]);
  return Buffer.concat([...files.flatMap(([path, data]) => [header(path, data.length), data, Buffer.alloc((512 - (data.length % 512)) % 512)]), Buffer.alloc(1024)]);
}

function header(path, size) {
  const block = Buffer.alloc(512);
  block.write(path, 0);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}
