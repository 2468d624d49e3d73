// HTTP over TCP or a Unix socket, one connection for each request.
import http from 'node:http';

// A target is { socketPath } or { host, port }.
export function open(target, { method, path, headers = {}, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ ...target, method, path, headers, agent: false }, resolve);
    request.on('error', reject);
    request.setTimeout(60_000, () => request.destroy(new Error(`${method} ${path}: no answer for a minute`)));
    if (body === undefined) request.end();
    else if (typeof body.pipe === 'function') body.pipe(request);
    else request.end(body);
  });
}

export async function read(response) {
  const pieces = [];
  for await (const piece of response) pieces.push(piece);
  return Buffer.concat(pieces);
}

// The events of a text/event-stream: { id, event, data }.
export async function* events(response) {
  let rest = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    rest += piece;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      const event = parse(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (event) yield event;
    }
  }
  if (rest !== '') throw new Error(`the stream broke off within an event: ${JSON.stringify(rest)}`);
}

// None for a comment.
function parse(block) {
  const event = {};
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) continue;
    const [, name, value] = /^(id|event|data|retry): ?(.*)$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a line of an event: ${JSON.stringify(line)}`);
    event[name] = name === 'data' && event.data !== undefined ? `${event.data}\n${value}` : value;
  }
  return Object.keys(event).length ? event : null;
}

// fetch() for a Unix socket.
export function socket_fetch(socketPath) {
  return async (request) => {
    const url = new URL(request.url);
    const body = Buffer.from(await request.arrayBuffer());
    const headers = { ...Object.fromEntries(request.headers), host: 'localhost' };
    if (body.length) headers['content-length'] = body.length;
    const answer = await open({ socketPath }, {
      method: request.method, path: url.pathname + url.search, headers, body: body.length ? body : undefined,
    });
    const bytes = await read(answer);
    const bodiless = [101, 204, 205, 304].includes(answer.statusCode);
    return new Response(bodiless ? null : bytes, { status: answer.statusCode, headers: answer.headers });
  };
}
