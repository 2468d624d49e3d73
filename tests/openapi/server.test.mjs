// The server against the document, in both directions. One process, so that what was seen can be summed up at the end.
import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import './cases/sandboxes.mjs';
import './cases/networks.mjs';
import './cases/execs.mjs';
import './cases/contexts.mjs';
import './cases/sessions.mjs';
import './cases/files.mjs';
import './cases/ports.mjs';
import './cases/images.mjs';
import './cases/conditions.mjs';
import './cases/idempotency.mjs';
import './cases/access.mjs';
import './cases/secrets.mjs';
import './cases/server.mjs';
import './cases/every.mjs';
import { close_all, seen } from './support/api.mjs';
import { operations } from './support/document.mjs';
import { socket, stranger } from './support/server.mjs';

after(close_all);

// The document promises no success of these.
const never_succeeds = ({ responses }) => !Object.keys(responses).some((status) => Number(status) < 400);

test('every operation was exercised, with success and without', (t) => {
  const missing = [];
  for (const [id, statuses] of seen) {
    const operation = operations.get(id);
    if (statuses.size === 0) missing.push(`${id} was never called`);
    else if (operation.scope === 'socket' && !socket) continue;
    else if (!never_succeeds(operation) && ![...statuses].some((status) => status < 400)) missing.push(`${id} never succeeded`);
    else if (operation.security.length && stranger && ![...statuses].some((status) => status >= 400)) missing.push(`${id} never failed`);
  }
  assert.deepEqual(missing, []);
});

test('every documented answer was seen, but those that cannot be brought about here', { skip: !socket || !stranger }, () => {
  // The server's own faults and shortages, what a slow caller brings about, what depends on the machine or on a moment.
  const elsewhere = new Set(['408', '422', '429', '500', '503', '507']);
  const momentary = new Set(['stopSandbox 409', 'killExec 409', 'writeFile 413', 'writeArchive 413']);
  const unseen = [];
  for (const [id, { responses }] of operations)
    for (const status of Object.keys(responses))
      if (!elsewhere.has(status) && !seen.get(id).has(Number(status)) && !momentary.has(`${id} ${status}`)) unseen.push(`${id} ${status}`);
  assert.deepEqual(unseen, []);
});
