// A client generated from the document compiles, makes a sandbox, runs code in it and reads a file.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { path as document } from './support/document.mjs';
import { socket_fetch } from './support/http.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'cove-client-'));
after(() => rmSync(folder, { recursive: true }));

function program(name, ...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(here, 'node_modules', name), ...args], { cwd: folder, encoding: 'utf8' });
  assert.equal(status, 0, `${name}:\n${stdout}${stderr}`);
}

test('a client can be generated, and a program that uses it compiles', () => {
  program('@hey-api/openapi-ts/bin/index.cjs', '-i', document, '-o', join(folder, 'generated'), '-c', '@hey-api/client-fetch', '--no-log-file');
  copyFileSync(join(here, 'client.ts'), join(folder, 'client.ts'));
  program('typescript/bin/tsc', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom,dom.iterable',
    '--module', 'commonjs', '--moduleResolution', 'node10', 'client.ts');
});

const { COVE_TEST_SOCKET, COVE_TEST_URL, COVE_TEST_KEY } = process.env;
const use = (options) => createRequire(import.meta.url)(join(folder, 'client.js')).use(options);
const expected = ['success', 'done\n', '42', 'not_found'];

test('it works over the Unix socket', { skip: COVE_TEST_SOCKET ? false : 'needs COVE_TEST_SOCKET' }, async () => {
  assert.deepEqual(await use({ baseUrl: 'http://localhost', fetch: socket_fetch(COVE_TEST_SOCKET) }), expected);
});

test('it works over TCP with a key', { skip: COVE_TEST_URL && COVE_TEST_KEY ? false : 'needs COVE_TEST_URL and COVE_TEST_KEY' }, async () => {
  assert.deepEqual(await use({ baseUrl: COVE_TEST_URL, auth: COVE_TEST_KEY }), expected);
});
