// node:test, with a bound on how long one test may take.
import node_test from 'node:test';

const timeout = Number(process.env.COVE_TEST_TIMEOUT ?? 60) * 1000;

export default function test(name, ...rest) {
  const [options, body] = rest.length === 2 ? rest : [{}, rest[0]];
  return node_test(name, { timeout, ...options }, body);
}
