// api/openapi.yaml, resolved, as a list of operations; and its schemas as validators.
import { fileURLToPath } from 'node:url';
import SwaggerParser from '@apidevtools/swagger-parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export const path = fileURLToPath(new URL('../../../api/openapi.yaml', import.meta.url));
export const document = await SwaggerParser.dereference(path);

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'];

function operation(path, item, method) {
  const spec = item[method];
  return {
    id: spec.operationId,
    tag: spec.tags[0],
    method: method.toUpperCase(),
    path,
    parameters: [...(item.parameters ?? []), ...(spec.parameters ?? [])],
    body: spec.requestBody?.content ?? {},
    responses: spec.responses,
    scope: spec['x-scope'],
    security: spec.security ?? document.security,
    websocket: spec['x-websocket'],
  };
}

export const operations = new Map();
for (const [path, item] of Object.entries(document.paths))
  for (const method of methods)
    if (item[method]) operations.set(item[method].operationId, operation(path, item, method));

const ajv = new Ajv2020({ strictTypes: false, strictRequired: false, allErrors: true, coerceTypes: false });
formats.default(ajv);
ajv.addKeyword({
  keyword: 'x-one-of',
  validate: (names, value) => names.filter((name) => name in value).length === 1,
});

// Answers are open to callers, but what the server says is all documented: objects with named fields have no others.
function closed(schema) {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== 'object') return schema;
  const { examples, ...rest } = schema;
  const own = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, closed(value)]));
  if (!schema.properties) return own;
  own.properties = Object.fromEntries(Object.entries(schema.properties).map(([name, value]) => [name, closed(value)]));
  return { additionalProperties: false, ...own };
}

const compiled = new Map();

// What is wrong with a value, in words; null where nothing is.
export function violation(schema, value) {
  if (!compiled.has(schema)) compiled.set(schema, ajv.compile(closed(schema)));
  const validate = compiled.get(schema);
  if (validate(value)) return null;
  return validate.errors.map((error) => `${error.instancePath || '/'} ${error.message} ${JSON.stringify(error.params)}`).join('; ');
}

// A request that is right in form, made of the document's own examples.
export function sample(operation) {
  const query = {};
  for (const parameter of operation.parameters)
    if (parameter.in === 'query' && parameter.required) query[parameter.name] = '/tmp/none';
  const json = operation.body['application/json'];
  if (json) return { query, json: Object.values(json.examples ?? {})[0]?.value ?? {} };
  const type = Object.keys(operation.body)[0];
  return type ? { query, body: '', headers: { 'content-type': type } } : { query };
}
