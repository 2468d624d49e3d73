// The examples of docs/api.md work as pasted.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'node:test';

const guide = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const { COVE_TEST_SOCKET, COVE_TEST_URL } = process.env;

// The indented blocks that are commands, as one script: each paragraph of the guide can use what came before.
function commands() {
  const blocks = guide.split(/\n\n/).filter((block) => block.split('\n').every((line) => line.startsWith('    ')));
  return blocks.filter((block) => /^ {4}(curl|printf|mkdir|[A-Z]+=\$\(curl) /.test(block)).map((block) => block.replace(/^ {4}/gm, ''));
}

// curl as it is, but an error status ends the script.
const prelude = 'set -euo pipefail\ncurl() { command curl --fail-with-body --silent --show-error --max-time 30 "$@"; }\n';

test('the examples of the guide work as pasted', { skip: COVE_TEST_SOCKET && COVE_TEST_URL ? false : 'needs both listeners' }, () => {
  const blocks = commands();
  assert.ok(blocks.length >= 8, `${blocks.length} blocks`);
  const script = blocks.join('\n').replaceAll('/run/cove/api.sock', COVE_TEST_SOCKET).replaceAll('http://127.0.0.1:8080', COVE_TEST_URL);
  const { status, stdout, stderr } = spawnSync('bash', ['-c', `${prelude}${script}\nrm -r /tmp/cove-guide`], { encoding: 'utf8', timeout: 120_000 });
  assert.equal(status, 0, `${stdout}\n${stderr}`);
  for (const expected of [/"text": ?"42\\n"/, /a\nb\n/, /there\\n/, /event: exit/, /}(\.\/)?hello\n/])
    assert.match(stdout, expected);
});
