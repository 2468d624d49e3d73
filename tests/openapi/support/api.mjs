// Calls operations by their id, and holds every answer to the document.
import assert from 'node:assert/strict';
import WebSocket from 'ws';
import { operations, violation } from './document.mjs';
import { events, open, read } from './http.mjs';

// Which statuses were seen of which operation.
export const seen = new Map([...operations.keys()].map((id) => [id, new Set()]));

// What may still be open when a test has failed; it would keep the process from ending.
const open_ends = new Set();
export function close_all() {
  for (const close of open_ends) close();
}

const statuses = {
  invalid: [400], unauthorized: [401], denied: [403], not_found: [404], method_not_allowed: [405], not_acceptable: [406],
  timeout: [408], exists: [409], conflict: [409], precondition: [412, 416], too_large: [413, 414, 431], exhausted: [429],
  internal: [500], unsupported: [422, 501], unavailable: [503],
  idempotency_mismatch: [409], idempotency_unfinished: [409],
};

export function assert_problem(answer, what) {
  assert.equal(answer.json.status, answer.status, `${what}: the problem's status is not the answer's`);
  assert.ok(statuses[answer.json.code]?.includes(answer.status), `${what}: ${answer.json.code} with status ${answer.status}`);
  assert.ok(answer.json.detail.length > 0, `${what}: a problem without a detail`);
  assert.equal(answer.json.request_id, answer.headers['x-request-id'], `${what}: the problem's request id is not the answer's`);
}

function documented(operation, status, what) {
  const response = operation.responses[status];
  assert.ok(response, `${what}: status ${status} is not documented`);
  return response;
}

function check_headers(response, headers, what) {
  for (const [name, header] of Object.entries(response.headers ?? {})) {
    const value = headers[name.toLowerCase()];
    if (header.required) assert.notEqual(value, undefined, `${what}: no header ${name}`);
    if (value !== undefined) assert.equal(violation(header.schema, value), null, `${what}: header ${name}: ${value}`);
  }
}

const media_type = (headers) => headers['content-type']?.split(';')[0].trim();

function check_body(operation, response, answer, what) {
  const type = media_type(answer.headers);
  const contents = response.content ?? {};
  if (answer.bytes.length === 0 && (operation.method === 'HEAD' || !response.content)) return;
  assert.ok(contents[type], `${what}: content type ${type} is not documented (body: ${answer.text.slice(0, 500)})`);
  if (!type.endsWith('json')) return;
  const wrong = violation(contents[type].schema, answer.json);
  assert.equal(wrong, null, `${what}: ${wrong}\n${answer.text}`);
  if (type === 'application/problem+json') assert_problem(answer, what);
}

// The document must allow what the server accepts.
function check_request(operation, request, what) {
  const names = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`);
  for (const name of Object.keys(request.query ?? {}))
    if (name !== 'token') assert.ok(names.includes(`query ${name}`), `${what}: parameter ${name} is not documented`);
  if (request.json === undefined) return;
  const content = operation.body['application/json'];
  assert.ok(content, `${what}: a JSON body is not documented`);
  assert.equal(violation(content.schema, request.json), null, `${what}: accepted, but the document forbids it`);
}

function fill(operation, { path = {}, query = {} }) {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name) => {
    assert.ok(path[name] !== undefined, `${operation.id} needs ${name}`);
    return encodeURIComponent(path[name]);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) for (const one of [value].flat()) search.append(name, one);
  return search.size ? `${filled}?${search}` : filled;
}

export class Api {
  // `headers` go with every request: credentials, the project.
  constructor(target, headers = {}) {
    this.target = target;
    this.headers = headers;
  }

  with(headers) {
    return new Api(this.target, { ...this.headers, ...headers });
  }

  #request(operation, request) {
    const headers = { ...this.headers, ...request.headers };
    let body = request.body;
    if (request.json !== undefined) {
      headers['content-type'] ??= 'application/json';
      body = JSON.stringify(request.json);
    }
    if (typeof body === 'string' || Buffer.isBuffer(body)) headers['content-length'] = Buffer.byteLength(body);
    return { method: operation.method, path: fill(operation, request), headers, body };
  }

  // request: { path, query, headers, json | body, expect }. The answer: { status, headers, bytes, text, json }.
  async call(id, request = {}) {
    const operation = operations.get(id);
    assert.ok(operation, `no operation ${id}`);
    const response = await open(this.target, this.#request(operation, request));
    const bytes = await read(response);
    const answer = { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() };
    const what = `${id} → ${answer.status}`;
    if (media_type(answer.headers)?.endsWith('json') && bytes.length) answer.json = JSON.parse(answer.text);
    seen.get(id).add(answer.status);
    assert.match(answer.headers['x-request-id'] ?? '', /^[\w.:/+=@-]{1,128}$/, `${what}: no request id`);
    const spec = documented(operation, answer.status, `${what} ${answer.text.slice(0, 500)}`);
    check_headers(spec, answer.headers, what);
    check_body(operation, spec, answer, what);
    if (answer.status < 300) check_request(operation, request, what);
    if (request.expect !== undefined)
      assert.ok([request.expect].flat().includes(answer.status), `${what}, not ${request.expect}: ${answer.text.slice(0, 1000)}`);
    return answer;
  }

  // As `call`, of an answer that must be a problem with this status and code.
  async refused(id, status, code, request = {}) {
    const answer = await this.call(id, { ...request, expect: status });
    if (answer.json) assert.equal(answer.json.code, code, answer.text);
    return answer.json;
  }

  // An event stream: an async iterator of { id, event, data (parsed) } with close().
  async stream(id, request = {}) {
    const operation = operations.get(id);
    const made = this.#request(operation, { ...request, headers: { accept: 'text/event-stream', ...request.headers } });
    const response = await open(this.target, made);
    const what = `${id} → ${response.statusCode}`;
    seen.get(id).add(response.statusCode);
    const spec = documented(operation, response.statusCode, what);
    assert.ok([200, 201].includes(response.statusCode), what);
    const type = media_type(response.headers);
    const schemas = spec.content[type]?.['x-events'];
    assert.ok(schemas, `${what}: ${type} is not a documented event stream`);
    check_request(operation, request, what);
    const checked = checked_events(response, schemas, what);
    const close = () => response.destroy();
    open_ends.add(close);
    return { [Symbol.asyncIterator]: () => checked, next: () => checked.next(), close };
  }

  // A WebSocket. Messages: { type, … } of text, { stream, seq, data } of binary, { closed } at its end.
  connect(id, request = {}) {
    const operation = operations.get(id);
    const path = fill(operation, request);
    const url = this.target.socketPath ? `ws+unix://${this.target.socketPath}:${path}` : `ws://${this.target.host}:${this.target.port}${path}`;
    const socket = new WebSocket(url, { headers: { ...this.headers, ...request.headers } });
    return new Promise((resolve, reject) => {
      const connection = new Connection(socket, operation);
      open_ends.add(() => socket.terminate());
      socket.on('upgrade', () => seen.get(id).add(101));
      socket.on('open', () => resolve(connection));
      socket.on('error', reject);
      socket.on('unexpected-response', async (_, response) => {
        const bytes = await read(response);
        const answer = { status: response.statusCode, headers: response.headers, bytes, text: bytes.toString() };
        seen.get(id).add(answer.status);
        reject(Object.assign(new Error(`${id} → ${answer.status} ${answer.text}`), { answer }));
      });
    });
  }
}

async function* checked_events(response, schemas, what) {
  for await (const event of events(response)) {
    const schema = schemas[event.event] ?? schemas['*'];
    assert.ok(schema, `${what}: event ${event.event} is not documented`);
    const data = JSON.parse(event.data);
    assert.equal(violation(schema, data), null, `${what}: event ${event.event}: ${violation(schema, data)}\n${event.data}`);
    if (data.seq !== undefined) assert.equal(event.id, String(data.seq), `${what}: the id is not the number`);
    yield { ...event, data };
  }
}

class Connection {
  #waiting = [];
  #arrived = [];

  constructor(socket, operation) {
    this.socket = socket;
    this.operation = operation;
    socket.on('message', (data, binary) => this.#arrive(binary ? binary_message(data) : JSON.parse(data.toString())));
    socket.on('close', (closed) => this.#arrive({ closed }));
  }

  #arrive(message) {
    const waiter = this.#waiting.shift();
    if (waiter) waiter(message);
    else this.#arrived.push(message);
  }

  async next() {
    const message = this.#arrived.shift() ?? (await new Promise((resolve) => this.#waiting.push(resolve)));
    if (message.type === undefined) return message;
    const schema = this.operation.websocket.server[message.type];
    assert.ok(schema, `message ${message.type} is not documented`);
    assert.equal(violation(schema, message), null, `message ${JSON.stringify(message)}`);
    return message;
  }

  // Text where it is an object, else binary.
  send(message) {
    if (Buffer.isBuffer(message)) return this.socket.send(message);
    const schema = this.operation.websocket.client[message.type];
    assert.equal(violation(schema, message), null, `message ${JSON.stringify(message)}`);
    this.socket.send(JSON.stringify(message));
  }

  // What is not documented, too.
  send_text(text) {
    this.socket.send(text);
  }

  close() {
    this.socket.close();
  }
}

function binary_message(data) {
  assert.ok(data.length > 9, 'a binary message has a stream, a number and data');
  assert.ok([1, 2].includes(data[0]), `stream ${data[0]}`);
  return { stream: data[0] === 1 ? 'stdout' : 'stderr', seq: Number(data.readBigUInt64BE(1)), data: data.subarray(9) };
}
