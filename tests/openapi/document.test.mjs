// The document by itself.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import SwaggerParser from '@apidevtools/swagger-parser';
import { document, operations, path, violation } from './support/document.mjs';

test('the document is valid OpenAPI', () => SwaggerParser.validate(path));

test('operations have unique ids, a summary, a tag and a scope', () => {
  const ids = [];
  for (const item of Object.values(document.paths))
    for (const spec of Object.values(item).filter((spec) => spec.responses)) {
      ids.push(spec.operationId);
      assert.ok(spec.summary && spec.tags?.length === 1, spec.operationId);
      const open = spec.security?.length === 0;
      assert.ok(open || ['read', 'run', 'manage', 'secrets', 'approve', 'admin', 'socket'].includes(spec['x-scope']), `${spec.operationId} has no scope`);
    }
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(operations.size, ids.length);
});

test('path parameters are declared', () => {
  for (const { id, path, parameters } of operations.values()) {
    const used = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
    const declared = parameters.filter((parameter) => parameter.in === 'path').map((parameter) => parameter.name).sort();
    assert.deepEqual(declared, used, id);
  }
});

// Calls `see` with each schema of an object in it, and where it is.
function each_object(schema, where, see) {
  for (const part of [...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) each_object(part, where, see);
  if (schema.items) each_object(schema.items, [...where, '[]'], see);
  if (typeof schema.additionalProperties === 'object') each_object(schema.additionalProperties, [...where, '*'], see);
  for (const [name, property] of Object.entries(schema.properties ?? {})) each_object(property, [...where, name], see);
  if ([schema.type].flat().includes('object')) see(schema, where.join('.'));
}

test('answers are open: they may gain fields', () => {
  for (const { id, responses } of operations.values())
    for (const [status, response] of Object.entries(responses))
      for (const { schema } of Object.values(response.content ?? {}))
        each_object(schema, [id, status], ({ additionalProperties }, where) => assert.notEqual(additionalProperties, false, where));
});

test('requests are closed: a field that is not documented is an error', () => {
  for (const { id, body } of operations.values())
    each_object(body['application/json']?.schema ?? {}, [id], ({ additionalProperties }, where) =>
      assert.ok(additionalProperties !== undefined && additionalProperties !== true, where));
});

test('sizes and durations of answers have their unit in their name', () => {
  const free = new Set(['bytes', 'totals.*']);
  const bare = /(^|_)(size|memory|disk|timeout|grace|idle|duration|ttl|seconds)$/;
  for (const { id, responses } of operations.values())
    for (const response of Object.values(responses))
      for (const { schema } of Object.values(response.content ?? {}))
        each_object(schema, [id], ({ properties = {} }, where) => {
          for (const [name, { type }] of Object.entries(properties))
            if ([type].flat().some((each) => ['integer', 'number'].includes(each)) && !free.has(name)) assert.doesNotMatch(name, bare, where);
        });
});

test('every list is items and next, by limit and after', () => {
  const names = (operation) => operation.parameters.map(({ name }) => name);
  for (const operation of operations.values()) {
    const schema = operation.responses['200']?.content?.['application/json']?.schema;
    if (!/^list|^getConfig$/.test(operation.id)) continue;
    assert.ok(schema.properties.items.type === 'array' && schema.required.includes('items') && schema.required.includes('next'), operation.id);
    assert.deepEqual(schema.properties.next.type, ['string', 'null'], operation.id);
    for (const name of ['limit', 'after']) assert.ok(names(operation).includes(name), `${operation.id} has no ${name}`);
  }
});

test('what makes something takes an idempotency key, and says what becomes of another request with it', () => {
  const makes = new Set(['createSandbox', 'createToken', 'createExec', 'createContext', 'startSession', 'createSessionExec', 'execute',
    'createKey', 'createProject', 'pullImage', 'loadImages', 'importImage', 'makeFolder']);
  for (const { id, parameters, responses } of operations.values()) {
    assert.equal(parameters.some(({ name }) => name === 'Idempotency-Key'), makes.has(id), id);
    if (makes.has(id)) assert.ok(responses['409'], id);
  }
});

test('errors are problems, and every operation that needs credentials says so', () => {
  for (const { id, responses, security } of operations.values()) {
    for (const [status, response] of Object.entries(responses))
      if (Number(status) >= 400 && id !== 'getReady')
        assert.deepEqual(Object.keys(response.content), ['application/problem+json'], `${id} ${status}`);
    assert.equal('401' in responses && '403' in responses, security.length > 0, id);
  }
});

test('examples fit their schemas', () => {
  let examples = 0;
  const check = (where, { schema, examples: named = {} }) => {
    for (const [name, { value }] of Object.entries(named)) {
      assert.equal(violation(schema, value), null, `${where} ${name}`);
      ++examples;
    }
  };
  for (const { id, body, responses } of operations.values()) {
    for (const content of Object.values(body)) check(id, content);
    for (const [status, response] of Object.entries(responses))
      for (const content of Object.values(response.content ?? {})) check(`${id} ${status}`, content);
  }
  for (const [name, schema] of Object.entries(document.components.schemas))
    for (const example of schema.examples ?? []) assert.equal(violation(schema, example), null, name);
  assert.ok(examples > 20);
});

test('every schema is used', () => {
  const used = new Set();
  const visit = (value) => {
    if (value === null || typeof value !== 'object' || used.has(value)) return;
    used.add(value);
    for (const inner of Object.values(value)) visit(inner);
  };
  visit(document.paths);
  for (const [name, schema] of Object.entries(document.components.schemas)) assert.ok(used.has(schema), name);
});

// src/api/rest/ adds each route in one line: routes.add("GET", "/v1/…", kRead, handler).
function* routes_in_source() {
  const folder = new URL('../../src/api/rest/', import.meta.url);
  for (const name of readdirSync(folder).filter((name) => name.endsWith('.cc')))
    for (const [, open, method, path, door] of readFileSync(new URL(name, folder), 'utf8').matchAll(
      /routes\.add(_open)?\(\s*"(\w+)",\s*"([^"]+)",\s*(\w+)/g))
      yield { method, path: path.replace(/\{\w+/g, '{'), door: open ? 'open' : door };
}

test('the routes of the source are the operations of the document, with the same doors', () => {
  const doors = { kRead: 'read', kRun: 'run', kManage: 'manage', kSecrets: 'secrets', kApprove: 'approve', kAdmin: 'admin', kTokenRead: 'read token', kTokenRun: 'run token',
    kSignedRead: 'read token', kSignedRun: 'run token', open: 'open' };
  const source = [...routes_in_source()].map(({ method, path, door }) => `${method} ${path} ${doors[door]}`).sort();
  const documented = [...operations.values()].filter(({ method }) => method !== 'HEAD').map(({ method, path, scope, security }) => {
    if (security.length === 0) return `${method} ${path.replace(/\{\w+/g, '{')} open`;
    const token = security.some((one) => 'sandboxToken' in one) ? ' token' : '';
    return `${method} ${path.replace(/\{\w+/g, '{')} ${scope === 'socket' ? 'admin' : scope}${token}`;
  });
  assert.deepEqual(source, documented.sort());
});
