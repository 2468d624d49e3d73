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
      assert.ok(open || ['read', 'run', 'manage', 'admin', 'socket'].includes(spec['x-scope']), `${spec.operationId} has no scope`);
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

test('answers in JSON are closed: a field that is not documented is an error', () => {
  const free = new Set(['data', 'results']);
  const check = (schema, where) => {
    for (const part of [...(schema.oneOf ?? []), ...(schema.allOf ?? [])]) check(part, where);
    if (schema.items && !free.has(where.at(-1))) check(schema.items, where);
    if (schema.type !== 'object' || free.has(where.at(-1)) || schema.allOf) return;
    const map = typeof schema.additionalProperties === 'object';
    assert.ok(map || schema.additionalProperties === false, where.join('.'));
    if (map) check(schema.additionalProperties, [...where, '*']);
    for (const [name, property] of Object.entries(schema.properties ?? {})) check(property, [...where, name]);
  };
  for (const { id, responses } of operations.values())
    for (const [status, response] of Object.entries(responses))
      for (const [type, { schema }] of Object.entries(response.content ?? {}))
        if (type.endsWith('json')) check(schema, [id, status]);
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
    if (schema.example !== undefined) assert.equal(violation(schema, schema.example), null, name);
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
  const doors = { kRead: 'read', kRun: 'run', kManage: 'manage', kAdmin: 'admin', kTokenRead: 'read token', kTokenRun: 'run token',
    kSignedRead: 'read token', kSignedRun: 'run token', open: 'open' };
  const source = [...routes_in_source()].map(({ method, path, door }) => `${method} ${path} ${doors[door]}`).sort();
  const documented = [...operations.values()].filter(({ method }) => method !== 'HEAD').map(({ method, path, scope, security }) => {
    if (security.length === 0) return `${method} ${path.replace(/\{\w+/g, '{')} open`;
    const token = security.some((one) => 'sandboxToken' in one) ? ' token' : '';
    return `${method} ${path.replace(/\{\w+/g, '{')} ${scope === 'socket' ? 'admin' : scope}${token}`;
  });
  assert.deepEqual(source, documented.sort());
});
