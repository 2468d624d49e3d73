// A JavaScript interpreter that keeps its state between executions: the inside of a context.
//
// It speaks docs/formats/context-channel.md on the descriptors 0 and 1 that it was started with. For Node 18 and newer.
// Node cannot put a pipe in place of its own descriptors, and code that loops cannot be stopped from its own thread. So
// there are three roles:
//
//   supervisor  the process that was started: has the channel, forwards the output of its child
//   evaluator   the child: its main thread runs the user's code, and says what came of it on descriptor 4
//   controller  a thread of the evaluator: reads orders from descriptor 3, has the code evaluated through the inspector,
//               in V8's REPL mode (top-level await, declarations that stay and may be repeated), and ends what is stuck
//
// The controller's session is one of another thread on purpose: a session of the main thread itself would answer in the
// middle of a garbage collection that takes a promise which is awaited, and so end the process.
import { spawn } from 'node:child_process';
import { Console } from 'node:console';
import { setMaxListeners } from 'node:events';
import fs from 'node:fs';
import inspector from 'node:inspector';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import vm from 'node:vm';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

// The user's code may declare names like these for itself, and would be seen from here.
const {
  AbortController, Array, Atomics, Buffer, Error, Int32Array, JSON, Map, Number, Object, Promise, Set, SharedArrayBuffer, String, Symbol,
  SyntaxError, TypeError, Uint8Array, globalThis: global,
} = globalThis;
const { clearImmediate, clearTimeout, setImmediate, setTimeout } = timers;

const OWN_FILE = fileURLToPath(import.meta.url);
const EVALUATOR_FLAGS = ['--no-force-async-hooks-checks', '--experimental-import-meta-resolve'];
const ORDERS = 3;
const EVENTS = 4;
const READ_BYTES = 1 << 16;
const GROUP_DELAY = 500; // ms until an interrupt goes to the children, too
const STUCK_DELAY = 150; // ms until code counts as stuck: it does not let the event loop run
const EXIT_PATIENCE = 2000; // ms
// Of one result. A longer text is cut; what is longer in any other format is left out.
const MOST_TEXT = 10 << 20; // characters
const MOST_STRING = 1 << 17; // characters of a string inside of a value
const MOST_JSON = 1 << 20; // bytes, as those that follow
const MOST_FORMAT = 16 << 20;
const MOST_FORMATS = 28 << 20;
const MOST_COMPARISONS = 40_000_000; // of keys with those before them in their object, which is what a reader may do
const DEEPEST_JSON = 50;
const FAREWELL = 'Waiting for the debugger to disconnect...\n'; // Node's, where it ends with an inspector attached
const IMPORT = '__cove_import__';
const META = '__cove_meta__';
const TURN = '__cove_turn__';

// --- pieces for all roles ----------------------------------------------------------------------------------------

function wait_a_moment() {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}

// Writes all, also where another process has made the descriptor non-blocking.
function write_fully(descriptor, data) {
  let offset = 0;
  while (offset < data.length) {
    try {
      offset += fs.writeSync(descriptor, data, offset);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      wait_a_moment();
    }
  }
}

// JSON without lone surrogates, which are no valid JSON: JSON.stringify writes only these as \udXXX.
function json_line(message) {
  const text = JSON.stringify(message);
  const clean = /\\ud[89a-f]/.test(text) ? text.replace(/\\(?:\\|ud[89a-f]..)/g, (found) => (found === '\\\\' ? found : '\ufffd')) : text;
  return Buffer.from(clean + '\n');
}

// Calls take(object) for each line that is a JSON object.
class LineReader {
  constructor(take) {
    this.take = take;
    this.pieces = [];
  }

  feed(data) {
    let start = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, start)) {
      this.pieces.push(data.subarray(start, end));
      start = end + 1;
      this.finish_line();
    }
    if (start < data.length) this.pieces.push(data.subarray(start));
  }

  finish_line() {
    const line = Buffer.concat(this.pieces).toString();
    this.pieces = [];
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return;
    }
    if (message !== null && typeof message === 'object') this.take(message);
  }
}

// All that can be read without waiting.
function* available(descriptor) {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (;;) {
    let count;
    try {
      count = fs.readSync(descriptor, buffer);
    } catch (error) {
      if (error.code === 'EAGAIN') return;
      throw error;
    }
    if (count === 0) return;
    yield Buffer.from(buffer.subarray(0, count));
  }
}

// --- the supervisor ----------------------------------------------------------------------------------------------

class Supervisor {
  constructor() {
    this.queue = []; // requests; null is the end
    this.ready = false;
    this.running = false;
    this.count = 0;
    this.id = '';
  }

  start() {
    this.child = spawn(process.execPath, [...EVALUATOR_FLAGS, OWN_FILE, 'evaluator'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    });
    this.orders = this.child.stdio[ORDERS];
    this.orders.on('error', () => {}); // it has ended, and that is told by itself
    this.outputs = [this.output('stdout'), this.output('stderr')];
    const events = new LineReader((event) => this.take_event(event));
    this.child.stdio[EVENTS].on('data', (data) => events.feed(data));
    this.child.on('exit', (code, signal) => this.follow(code, signal));
    this.listen();
  }

  listen() {
    this.requests = new LineReader((request) => this.queue.push(request));
    process.stdin.on('data', (data) => {
      this.requests.feed(data);
      this.next();
    });
    process.stdin.on('end', () => {
      this.queue.push(null);
      this.next();
    });
    process.on('SIGINT', () => this.interrupt());
  }

  output(type) {
    const stream = this.child[type];
    const output = { type, stream, decoder: new StringDecoder('utf8') };
    stream.on('data', (data) => this.forward(output, data));
    return output;
  }

  forward(output, data) {
    this.send_text(output, output.decoder.write(data));
  }

  send_text(output, all) {
    const text = output.type === 'stderr' && all.endsWith(FAREWELL) ? all.slice(0, -FAREWELL.length) : all;
    if (text) this.send({ type: output.type, id: this.id, text });
  }

  // What was printed before an event comes before it.
  drain() {
    for (const output of this.outputs) {
      const descriptor = output.stream._handle?.fd ?? -1; // none after its end
      if (descriptor >= 0) for (const data of available(descriptor)) this.forward(output, data);
    }
  }

  // And at the end, the rest of a character that was not completed.
  finish_output() {
    this.drain();
    for (const output of this.outputs) this.send_text(output, output.decoder.end());
  }

  send(message) {
    try {
      write_fully(1, json_line(message));
    } catch {
      this.end_unheard();
    }
  }

  // Nobody listens any more, and there is nobody to complain to.
  end_unheard() {
    try {
      process.kill(-this.child.pid, 'SIGKILL');
    } catch {
      // it has ended before
    }
    process.exit(1);
  }

  order(order) {
    this.orders.write(json_line(order));
  }

  next() {
    while (this.ready && !this.running && this.queue.length > 0) {
      const request = this.queue.shift();
      if (request === null || request.type === 'shutdown') {
        this.orders.end();
        this.ready = false;
      } else if (request.type === 'execute') {
        this.execute(request);
      }
    }
  }

  execute(request) {
    this.drain(); // belongs to the execution before
    this.running = true;
    this.count += 1;
    this.id = String(request.id ?? '');
    this.order({ type: 'execute', count: this.count, code: String(request.code ?? '') });
    if (request.interrupted) this.interrupt();
  }

  take_event({ count, message, number }) {
    if (message.type === 'ready') {
      this.ready = true;
      this.send(message);
    } else if (count === this.count && (this.running || message.type === 'result')) {
      this.take_answer(message);
    }
    if (number) this.order({ type: 'acknowledge', number });
    this.next();
  }

  take_answer({ type, ...fields }) {
    if (type === 'done') this.finish_output();
    else this.drain();
    this.send({ type, id: this.id, ...fields });
    if (type === 'done') this.running = false;
  }

  interrupt() {
    if (!this.running) this.look_for_request();
    if (!this.running) {
      const waiting = this.queue.find((request) => request?.type === 'execute');
      if (waiting) waiting.interrupted = true;
      return;
    }
    const count = this.count;
    this.order({ type: 'interrupt', count });
    setTimeout(() => this.interrupt_children(count), GROUP_DELAY).unref();
  }

  // One that was sent before the signal is meant by it.
  look_for_request() {
    try {
      for (const data of available(0)) this.requests.feed(data);
    } catch {
      return; // nothing that can be read so
    }
    this.next();
  }

  // The code waits for a program, and cannot be interrupted before that ends.
  interrupt_children(count) {
    if (!this.running || this.count !== count) return;
    try {
      process.kill(-this.child.pid, 'SIGINT');
    } catch {
      // it has just ended
    }
  }

  // Ends as its child did.
  follow(code, signal) {
    this.finish_output();
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exit(code);
    }
  }
}

// --- the evaluator: results --------------------------------------------------------------------------------------

const FORMATS = new Map([
  ['text/plain', 'text'], ['text/html', 'html'], ['text/markdown', 'markdown'], ['text/latex', 'latex'], ['image/svg+xml', 'svg'],
  ['image/png', 'png'], ['image/jpeg', 'jpeg'], ['application/pdf', 'pdf'], ['application/json', 'json'], ['application/javascript', 'javascript'],
]);
const FORMAT_NAMES = new Set(FORMATS.values());

// What is asked of a value of the user's may throw anything: a getter, a method, every access to a proxy.
function attempt(ask, otherwise) {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}

function bytes_of(data) {
  return typeof data === 'string' && data.length < 1 << 16 ? 6 * data.length : Buffer.byteLength(JSON.stringify(data));
}

// A text, with a word on what is missing of it.
function cut(text, most = MOST_TEXT) {
  let shown = text.slice(0, most);
  while (bytes_of(shown) > MOST_FORMAT) shown = shown.slice(0, shown.length / 2);
  return shown.length === text.length ? text : `${shown}… (${text.length - shown.length} characters more)`;
}

function text_of(value) {
  const maxStringLength = typeof value === 'string' ? MOST_TEXT : MOST_STRING;
  const text = attempt(() => inspect(value, { maxStringLength, maxArrayLength: 1000 }), undefined);
  return typeof text === 'string' ? cut(text) : `[${typeof value} that cannot be shown]`;
}

function is_plain(value) {
  if (value === null || typeof value !== 'object') return false;
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const TOO_MUCH = Symbol('too much');

// The value as JSON gives it back. Throws TOO_MUCH before it is made where it would be too large, or other readers would
// not take it.
function copy_of(value, most) {
  const depths = new Map();
  let left = most;
  let comparisons = MOST_COMPARISONS;
  const pay = (bytes) => {
    left -= bytes;
    if (left < 0) throw TOO_MUCH;
  };
  const text = JSON.stringify(value, function (key, one) {
    pay(key.length + 2);
    if (typeof one === 'string') pay(one.length);
    if (typeof one === 'number' && !Number.isFinite(one)) throw TOO_MUCH;
    if (one !== null && typeof one === 'object') {
      const depth = (depths.get(this) ?? 0) + 1;
      depths.set(one, depth);
      if (depth > DEEPEST_JSON || (Array.isArray(one) && 2 * one.length > left)) throw TOO_MUCH;
      if (!Array.isArray(one)) comparisons -= Object.keys(one).length ** 2 / 2;
      if (comparisons < 0) throw TOO_MUCH;
    }
    return one;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

function json_of(value) {
  try {
    return is_plain(value) ? copy_of(value, MOST_JSON) : undefined;
  } catch {
    return undefined; // too large, a cycle, a BigInt
  }
}

// As the channel has it; undefined where that is too large.
function sendable(name, data) {
  const text = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
  const most = name === 'json' ? MOST_JSON : MOST_FORMAT;
  if (typeof text === 'string' && name === 'text') return cut(text);
  if (typeof text === 'string') return text.length > most || bytes_of(text) > 2 * most ? undefined : text;
  try {
    return copy_of(text, most);
  } catch (error) {
    if (error === TOO_MUCH) return undefined;
    throw error;
  }
}

// A dictionary of formats, by our names or by MIME type.
function formats_of_bundle(bundle) {
  const formats = {};
  let left = MOST_FORMATS;
  for (const [key, data] of Object.entries(bundle)) {
    const name = FORMATS.get(key) ?? key;
    const sent = sendable(name, data);
    left -= sent === undefined ? 0 : bytes_of(sent);
    if (sent === undefined || left < 0) continue;
    if (FORMAT_NAMES.has(name)) formats[name] = sent;
    else formats.extra = { ...formats.extra, [name]: sent };
  }
  return formats;
}

// Only what can be sent.
function own_formats_of(value) {
  const method = value?.[Symbol.for('Jupyter.display')];
  return typeof method === 'function' ? formats_of_bundle(method.call(value)) : undefined;
}

function formats_of(value) {
  const own = attempt(() => own_formats_of(value), undefined);
  if (own) return { text: text_of(value), ...own };
  const json = json_of(value);
  return json === undefined ? { text: text_of(value) } : { text: text_of(value), json };
}

function is_bundle(value) {
  const names = attempt(() => (is_plain(value) && !Array.isArray(value) ? Object.keys(value) : []), []);
  return names.length > 0 && names.every((name) => FORMAT_NAMES.has(name) || FORMATS.has(name));
}

// --- the evaluator: errors ---------------------------------------------------------------------------------------

const cells = new Map(); // by count: lines, and what was put before the first of them

const source_name = (count) => `cove-cell-${count}`;
const cell_name = (count) => `<cell ${count}>`;

function shown_column(count, line, column) {
  return Math.max(1, line === 1 ? column - (cells.get(count)?.prefix.length ?? 0) : column);
}

// As people see it, in a line of a stack.
function shown_place(text) {
  return text.replace(/\bcove-cell-(\d+):(\d+):(\d+)/g, (_, count, line, column) => {
    return `${cell_name(count)}:${line}:${shown_column(Number(count), Number(line), Number(column))}`;
  });
}

const file_of = (frame) => String(frame.getScriptNameOrSourceURL() ?? '');
const is_cell = (frame) => file_of(frame).startsWith('cove-cell-');
const is_own = (frame) => file_of(frame) === import.meta.url;

const is_noise = (frame) => file_of(frame).startsWith('node:internal/');

// As Node writes it: Error [ERR_CODE]: message.
function head_of(error) {
  return attempt(() => {
    const head = Error.prototype.toString.call(error);
    return /^ERR_/.test(error.code) ? head.replace(/^\w+/, (name) => `${name} [${error.code}]`) : head;
  }, 'Error');
}

// In place of V8's own: stacks end with the cell.
function format_stack(error, frames) {
  const last = frames.map(is_cell).lastIndexOf(true);
  const seen = frames.slice(0, last >= 0 ? last + 1 : frames.length).filter((frame) => !is_own(frame) && !is_noise(frame));
  return [head_of(error), ...seen.map((frame) => `    at ${shown_place(String(frame))}`)].join('\n');
}

// The line of a cell that an error comes from: of its stack, or of the compiler's word.
function place_of(stack, place) {
  const found = /<cell (\d+)>:(\d+):(\d+)/.exec(stack);
  if (found) return { count: Number(found[1]), line: Number(found[2]), column: Number(found[3]) };
  return place;
}

function source_lines({ count, line, column }) {
  const text = cells.get(count)?.lines[line - 1];
  if (text === undefined) return '';
  const mark = text.slice(0, column - 1).replace(/\S/g, ' ') + '^';
  return text.length > 300 ? `${cell_name(count)}:${line}\n` : `${cell_name(count)}:${line}\n${text}\n${mark}\n`;
}

function describe_error(error, place) {
  const stack = attempt(() => (typeof error?.stack === 'string' ? error.stack : undefined), undefined);
  if (stack === undefined) return { name: 'Uncaught', value: text_of(error), traceback: `Uncaught ${text_of(error)}\n` };
  const found = place_of(stack, place);
  const head = found ? source_lines(found) : '';
  const text = stack.includes('\n    at ') ? text_of(error) : stack;
  const name = attempt(() => String(error.name), 'Error');
  const value = attempt(() => String(error.message), '');
  return { name: cut(name, 1000), value: cut(tidy(value)), traceback: cut(tidy(`${head}${text}\n`)) };
}

// The loader takes us for the one who imports.
function tidy(text) {
  return text.replaceAll(` imported from ${OWN_FILE}`, '');
}

class ExitError extends Error {
  name = 'SystemExit';
}

// --- the evaluator: surroundings of the user's code --------------------------------------------------------------

// Stands as process.stdout and process.stderr. Writes at once, and has no state that an interrupt could leave half done.
class OutputStream extends Writable {
  constructor(descriptor) {
    super();
    this.fd = descriptor;
    this._isStdio = true;
  }

  write(chunk, ...rest) {
    const encoding = typeof rest[0] === 'string' ? rest[0] : 'utf8';
    write_fully(this.fd, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  }

  end(chunk, ...rest) {
    if (chunk !== undefined && typeof chunk !== 'function') this.write(chunk, ...rest);
    return this;
  }

  _destroy(_error, done) {
    done();
  }
}

function define(object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
}

function put_streams() {
  const stdout = new OutputStream(1);
  const stderr = new OutputStream(2);
  define(process, 'stdout', stdout);
  define(process, 'stderr', stderr);
  define(global, 'console', new Console({ stdout, stderr, colorMode: false }));
}

// Node could not open them again.
function keep_descriptors() {
  const { close, closeSync } = fs;
  fs.closeSync = (descriptor) => (descriptor <= EVENTS ? undefined : closeSync(descriptor));
  fs.close = (descriptor, ...rest) => (descriptor <= EVENTS ? setImmediate(rest[0] ?? (() => {}), null) : close(descriptor, ...rest));
}

// As in a module of the current folder, which may change.
function put_require() {
  const in_folder = () => createRequire(path.join(process.cwd(), 'context.js'));
  const module = { exports: {} };
  const require = (name) => in_folder()(name);
  require.resolve = (...words) => in_folder().resolve(...words);
  require.cache = in_folder().cache;
  require.main = module;
  define(global, 'require', require);
  define(global, 'module', module);
  define(global, 'exports', module.exports);
}

function folder_url() {
  return pathToFileURL(path.join(process.cwd(), 'context.mjs')).href;
}

// In place of import: relative to the current folder. With names, only these, and all of them.
async function import_module(specifier, options, names) {
  const url = await import.meta.resolve(String(specifier), folder_url());
  const module = options === undefined ? await import(url) : await import(url, options);
  if (!names) return module;
  return Object.fromEntries(names.map((name) => [name, exported(module, name, specifier)]));
}

function exported(module, name, specifier) {
  if (name in module) return module[name];
  if (module.default && Object.hasOwn(Object(module.default), name)) return module.default[name]; // of CommonJS
  throw new SyntaxError(`The requested module '${specifier}' does not provide an export named '${name}'`);
}

function put_import() {
  define(global, IMPORT, import_module);
  Object.defineProperty(global, META, {
    get: () => ({ url: folder_url(), dirname: process.cwd(), filename: path.join(process.cwd(), 'context.mjs'), resolve: (name) => import.meta.resolve(name, folder_url()) }),
    configurable: true,
  });
}

// --- the evaluator -----------------------------------------------------------------------------------------------

// What belongs to one execution, and ends with it when it is interrupted.
class Execution {
  constructor(count) {
    this.count = count;
    this.timers = new Set();
    this.abort = new AbortController();
    setMaxListeners(0, this.abort.signal);
  }

  keep(timer) {
    if (this.timers.size > 1000) for (const old of this.timers) if (old._destroyed) this.timers.delete(old);
    this.timers.add(timer);
  }

  // Code that awaits a timer stays where it is.
  cancel() {
    for (const timer of this.timers) timer.constructor.name === 'Immediate' ? clearImmediate(timer) : clearTimeout(timer);
    this.abort.abort();
  }
}

class Evaluator {
  constructor() {
    this.execution = null;
    this.outcome = null; // of the execution, before it is told
    this.count = 0;
    this.displayed = 0;
    this.acknowledged = new Int32Array(new SharedArrayBuffer(4)); // of what was displayed
    this.exit = process.exit.bind(process);
  }

  start() {
    this.prepare();
    const secret = `cove-${Math.random()}`;
    define(global, secret, (...words) => this.settle(...words));
    this.controller = new Worker(OWN_FILE, { workerData: { secret, acknowledged: this.acknowledged }, execArgv: [] });
    this.controller.on('message', (order) => this[order.type](order));
    this.controller.on('error', (error) => process.stderr.write(`the context's controller failed: ${text_of(error)}\n`));
    this.controller.on('exit', () => this.exit(1)); // without it nothing can be run any more
    this.forget_secret = () => delete global[secret];
  }

  prepare() {
    put_streams();
    keep_descriptors();
    put_require();
    put_import();
    this.track_timers();
    syncBuiltinESMExports();
    define(global, TURN, () => new Promise((resolve) => setImmediate(resolve)));
    define(global, 'display', (...values) => this.display(values));
    Error.prepareStackTrace = format_stack;
    process.argv = [process.argv[0]];
    process.execArgv = [];
    process.exit = (code) => {
      throw new ExitError(String(code ?? process.exitCode ?? 0));
    };
    for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => this.uncaught(event, error));
    process.on('SIGINT', () => {}); // is meant for the children
  }

  track_timers() {
    for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
      const original = timers[name];
      const tracked = (...words) => {
        const timer = original(...words);
        this.execution?.keep(timer);
        return timer;
      };
      define(tracked, 'name', name);
      timers[name] = global[name] = tracked;
    }
    for (const name of ['setTimeout', 'setImmediate']) this.track_promise(name);
  }

  track_promise(name) {
    const original = timersPromises[name];
    const signals = () => (this.execution ? { signal: this.execution.abort.signal } : {});
    const tracked = name === 'setTimeout' ?
      (delay, value, options) => original(delay, value, { ...signals(), ...options }) :
      (value, options) => original(value, { ...signals(), ...options });
    timersPromises[name] = tracked;
    define(global[name], Symbol.for('nodejs.util.promisify.custom'), tracked);
  }

  // A newline first: if an interrupt broke off the message before, this one is whole.
  emit(count, message, number) {
    this.emit_all([{ count, message, number }]);
  }

  // With one write: an interrupt comes before all of them or after all.
  emit_all(events) {
    write_fully(EVENTS, Buffer.concat([Buffer.from('\n'), ...events.map(json_line)]));
  }

  // From the controller, which has found settle().
  attached() {
    this.forget_secret();
    this.emit(0, { type: 'ready', language: 'javascript', version: process.versions.node, engine: 'node' });
  }

  // From the controller. May come more than once.
  begin({ count, code, prefix }) {
    cells.set(count, { lines: code.split('\n'), prefix });
    this.begin_once(count);
    this.controller.postMessage({ type: 'begun' });
  }

  begin_once(count) {
    if (count <= this.count) return;
    this.count = count;
    this.execution = new Execution(count);
  }

  // From the controller: the value or error of the code. To describe it runs code of the user's, which could not be
  // ended while the inspector waits for it.
  settle(...outcome) {
    this.outcome = outcome;
    setImmediate(() => this.settle_now());
  }

  settle_now() {
    if (!this.outcome) return;
    const [count, failed, value, place] = this.outcome;
    this.outcome = null;
    if (this.execution?.count !== count) return;
    if (failed) this.fail(value, place);
    else this.give(value);
    // Rejected promises that nobody handles are known one turn later.
    if (this.execution) setImmediate(() => this.finish(count, 'ok'));
  }

  give(value) {
    if (value !== undefined) this.emit(this.execution.count, { type: 'result', main: true, formats: formats_of(value) });
  }

  fail(error, place) {
    this.finish(this.execution.count, 'error', describe_error(error, place));
  }

  // There is one error at most: an interrupt between the two messages would be told as another.
  finish(count, status, error) {
    if (this.execution?.count !== count) return;
    const done = { count, message: { type: 'done', count, status } };
    this.emit_all(error ? [{ count, message: { type: 'error', ...error } }, done] : [done]);
    this.execution = null;
    this.controller.postMessage({ type: 'finished', count });
  }

  // From the controller: nothing refers to the promise that the code awaits.
  lost({ count }) {
    if (this.execution?.count === count) this.fail(new Error('the code awaits a promise that nothing can settle any more'));
  }

  // From the controller. May come more than once, and before the execution has begun.
  abandon({ count }) {
    this.begin_once(count);
    if (this.execution?.count === count) {
      this.execution.cancel();
      this.finish(count, 'interrupted', { name: 'KeyboardInterrupt', value: '', traceback: 'KeyboardInterrupt\n' });
    }
    this.controller.postMessage({ type: 'finished', count });
  }

  // From the controller. What was ended in the middle of a callback has left its mark in Node's stack of asynchronous
  // ids, which is cleared after an error that nobody caught. When that has come, it is answered.
  ping() {
    let answered = false;
    this.pong = () => {
      if (!answered) this.controller.postMessage({ type: 'pong' });
      answered = true;
    };
    const { pong } = this;
    setImmediate(() => {
      setImmediate(pong); // where the user's code takes all errors for itself
      throw CLEARING;
    });
  }

  shutdown() {
    this.exit(0);
  }

  uncaught(event, error) {
    if (error === CLEARING) return this.pong();
    if (process.listenerCount(event) > 1) return; // the user has a handler
    this.settle_now();
    if (this.execution) this.fail(error);
    else process.stderr.write(`Uncaught ${text_of(error)}\n`);
  }

  display(values) {
    for (const value of values) {
      const formats = is_bundle(value) ? formats_of_bundle(value) : formats_of(value);
      this.displayed += 1;
      this.emit(this.count, { type: 'result', main: false, formats }, this.displayed);
      this.wait_for_supervisor();
    }
  }

  // What is printed next comes after what was displayed.
  wait_for_supervisor() {
    for (;;) {
      const acknowledged = Atomics.load(this.acknowledged, 0);
      if (acknowledged >= this.displayed) return;
      Atomics.wait(this.acknowledged, 0, acknowledged);
    }
  }
}

const CLEARING = Symbol('clearing');

// --- the controller: the code as it was written ------------------------------------------------------------------

const VALUE_FOLLOWS = new Set([
  'await', 'case', 'delete', 'do', 'else', 'in', 'instanceof', 'new', 'of', 'return', 'throw', 'typeof', 'void', 'yield',
]);

// Splits code into words, strings and signs, each with the number of brackets around it; good enough to find imports
// and declarations. What is no JavaScript is left to the compiler to complain of.
class Scanner {
  constructor(code) {
    this.code = code;
    this.at = 0;
    this.brackets = [];
    this.tokens = [];
  }

  scan() {
    while (this.at < this.code.length) this.step();
    return this.tokens;
  }

  step() {
    const sign = this.code[this.at];
    if (this.skip(/\s+|\/\/.*|\/\*[^]*?\*\//y)) return;
    if (sign === '"' || sign === "'") this.take_string(sign);
    else if (sign === '`') this.take_template();
    else if (sign === '}' && this.brackets.at(-1) === '${') this.brackets.pop(), this.take_template();
    else if (sign === '/' && this.value_may_follow() && this.take('regex', /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*/y)) return;
    else if (this.take('word', /[\p{ID_Continue}$\u200c\u200d\\#@]+/uy)) return;
    else this.take_sign(sign);
  }

  skip(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.code);
    if (found) this.at += found[0].length;
    return found;
  }

  take(kind, pattern) {
    const start = this.at;
    const found = this.skip(pattern);
    if (found) this.add(kind, start);
    return found;
  }

  add(kind, start) {
    this.tokens.push({ kind, start, end: this.at, text: this.code.slice(start, this.at), depth: this.brackets.length });
  }

  // Strings may be too long for a regular expression.
  take_string(quote) {
    const start = this.at;
    this.at += 1;
    while (this.at < this.code.length && this.code[this.at] !== quote && this.code[this.at] !== '\n') this.pass_character();
    this.at += 1;
    this.add('string', start);
  }

  // A piece of a template: up to its end, or to a value inside of it.
  take_template() {
    const start = this.at;
    this.at += 1;
    while (this.at < this.code.length && this.code[this.at] !== '`' && !this.code.startsWith('${', this.at)) this.pass_character();
    const value_follows = this.code[this.at] === '$';
    this.at += value_follows ? 2 : 1;
    this.add('string', start);
    if (value_follows) this.brackets.push('${');
  }

  pass_character() {
    this.at += this.code[this.at] === '\\' ? 2 : 1;
  }

  take_sign(sign) {
    if (')]}'.includes(sign)) this.brackets.pop();
    this.at += 1;
    this.add('sign', this.at - 1);
    if ('([{'.includes(sign)) this.brackets.push(sign);
  }

  // Whether a slash begins a regular expression here.
  value_may_follow() {
    const last = this.tokens.at(-1);
    if (!last) return true;
    if (last.kind === 'word') return VALUE_FOLLOWS.has(last.text);
    return last.kind === 'sign' && !')]'.includes(last.text);
  }
}

function apply_edits(code, edits) {
  let text = code;
  for (const { start, end, by } of [...edits].sort((a, b) => b.start - a.start)) text = text.slice(0, start) + by + text.slice(end);
  return text;
}

function line_ends(text) {
  return text.replace(/[^\n]/g, '');
}

// `{a, b as c}` from its first bracket on: pairs of names, and the index after the last bracket.
function read_names(tokens, index) {
  const pairs = [];
  let at = index + 1;
  while (tokens[at] && tokens[at].text !== '}') {
    const name = tokens[at].text;
    const renamed = tokens[at + 1]?.text === 'as';
    pairs.push([name, renamed ? tokens[at + 2]?.text : name]);
    at += renamed ? 3 : 1;
    if (tokens[at]?.text === ',') at += 1;
  }
  return { pairs, at: at + 1 };
}

// What stands between `import` and `from`; null if that is not understood.
function read_clause(tokens, index) {
  let at = index;
  let pairs = [];
  let all;
  if (tokens[at]?.kind === 'word') {
    pairs.push(['default', tokens[at].text]);
    at += tokens[at + 1]?.text === ',' ? 2 : 1;
  }
  if (tokens[at]?.text === '*') {
    all = tokens[at + 2]?.text;
    at += 3;
  } else if (tokens[at]?.text === '{') {
    const names = read_names(tokens, at);
    pairs = [...pairs, ...names.pairs];
    at = names.at;
  }
  return tokens[at]?.text === 'from' ? { pairs, all, at: at + 1 } : null;
}

// `with {…}` after a module's name: the second argument of import(), and the index after it.
function read_attributes(tokens, index) {
  const [word, bracket] = [tokens[index], tokens[index + 1]];
  if (!['with', 'assert'].includes(word?.text) || bracket?.text !== '{') return { options: 'undefined', at: index };
  const close = tokens.findIndex((token, i) => i > index && token.text === '}' && token.depth === bracket.depth);
  if (close < 0) return { options: 'undefined', at: index };
  const inside = tokens.slice(index + 1, close + 1).map((token) => token.text).join(' ');
  return { options: `{${word.text}: ${inside}}`, at: close + 1 };
}

function unquoted(name) {
  return /^["']/.test(name) ? name.slice(1, -1) : name;
}

// A static import as a dynamic one.
function import_edit(code, tokens, index) {
  const clause = tokens[index + 1]?.kind === 'string' ? { pairs: [], at: index + 1 } : read_clause(tokens, index + 1);
  const source = tokens[clause?.at];
  if (source?.kind !== 'string') return null;
  const { options, at } = read_attributes(tokens, clause.at + 1);
  const start = tokens[index].start;
  const end = tokens[at - 1].end;
  return { start, end, by: import_statement(clause, source.text, options) + line_ends(code.slice(start, end)) };
}

function import_statement({ pairs, all }, source, options) {
  const names = JSON.stringify(pairs.map(([name]) => unquoted(name)));
  const pattern = `{${pairs.map(([name, local]) => `${name}: ${local}`).join(', ')}}`;
  if (all) return `let ${all} = await ${IMPORT}(${source}, ${options})${pairs.length ? `, ${pattern} = ${all}` : ''};`;
  if (pairs.length) return `let ${pattern} = await ${IMPORT}(${source}, ${options}, ${names});`;
  return `await ${IMPORT}(${source}, ${options});`;
}

// A method may have the name, too: then a body follows.
function is_method(tokens, index) {
  const close = tokens.findIndex((token, i) => i > index + 1 && token.text === ')' && token.depth === tokens[index + 1].depth);
  return tokens[close + 1]?.text === '{';
}

function import_edits(code, tokens) {
  const edits = [];
  tokens.forEach((token, index) => {
    if (token.kind !== 'word' || token.text !== 'import' || tokens[index - 1]?.text === '.') return;
    const following = tokens[index + 1]?.text;
    if (following === '(') {
      if (!is_method(tokens, index)) edits.push({ start: token.start, end: token.end, by: IMPORT });
    } else if (following === '.' && tokens[index + 2]?.text === 'meta') {
      edits.push({ start: token.start, end: tokens[index + 2].end, by: META });
    } else if (token.depth === 0) {
      const edit = import_edit(code, tokens, index);
      if (edit) edits.push(edit);
    }
  });
  return edits;
}

// `{a: 1}` alone is meant as an object.
function is_object_literal(code) {
  if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return false;
  try {
    new vm.Script(`(${code}\n)`);
    return true;
  } catch {
    return false;
  }
}

// What is const in one cell may be anything in the next, which REPL mode allows only for let.
function const_edits(tokens) {
  const found = tokens.filter((token, i) => token.text === 'const' && token.kind === 'word' && token.depth === 0 && tokens[i - 1]?.text !== '.');
  return found.map(({ start, end }) => ({ start, end, by: 'let  ' }));
}

function prepared(code) {
  const tokens = new Scanner(code).scan();
  const text = apply_edits(code, [...import_edits(code, tokens), ...const_edits(tokens)]);
  return is_object_literal(text) ? `(${text}\n)` : text;
}

// The code begins in a turn of the event loop of its own. Where the inspector ran it at once, it might do so in the
// middle of other code, and would not listen any more.
function prefix_of(code) {
  const strict = /^\s*(["'])use strict\1/.test(code) ? '"use strict"; ' : '';
  return `${strict}await ${TURN}(); `;
}

// REPL mode lets let and class be repeated, but not what was declared with var or function, nor the other way
// round. The declaration of the name is changed into the other kind; null if it is not found.
function redeclared(code, name) {
  const tokens = new Scanner(code).scan();
  const index = tokens.findIndex((token, i) => token.depth === 0 && declares(tokens, i, name));
  if (index < 0) return null;
  const { start, end, text } = tokens[index];
  const by = { let: 'var', var: 'let', class: `var ${name} = class`, function: `let ${name} = function`, async: `let ${name} = async` }[text];
  return apply_edits(code, [{ start, end, by }]);
}

// The name that kept code from beginning; an error at another place is one of the code itself.
function taken_name(details) {
  if (!details || details.lineNumber !== 0 || details.columnNumber !== 0) return null;
  return /^SyntaxError: Identifier '(.+)' has already been declared/.exec(details.exception.description ?? '')?.[1];
}

function declares(tokens, index, name) {
  const words = tokens.slice(index, index + 4).map((token) => token.text);
  switch (words[0]) {
    case 'class':
      return words[1] === name && tokens[index - 1]?.text !== '=';
    case 'function':
      return (words[1] === '*' ? words[2] : words[1]) === name && tokens[index - 1]?.text !== '=' && tokens[index - 1]?.text !== 'async';
    case 'async':
      return words[1] === 'function' && (words[2] === '*' ? words[3] : words[2]) === name && tokens[index - 1]?.text !== '=';
    case 'let':
    case 'var':
      return declared_names(tokens, index + 1).includes(name);
    default:
      return false;
  }
}

// Up to the first value: one name, or those of a pattern.
function declared_names(tokens, index) {
  const end = tokens.findIndex((token, i) => i >= index && token.depth === 0 && (token.text === '=' || token.text === ';'));
  return tokens.slice(index, end < 0 ? index + 1 : end).map((token) => token.text);
}

// --- the controller ----------------------------------------------------------------------------------------------

class Controller {
  constructor({ secret, acknowledged }) {
    this.acknowledged = acknowledged;
    this.running = null; // {count, code, source, interrupted}
    this.quiet = null; // settled when an interrupt has been done with
    this.waiting = new Map(); // who waits for which message of the evaluator
    this.session = new inspector.Session();
    this.session.connectToMainThread();
    parentPort.on('message', (message) => this.take(message));
    this.attach(secret);
  }

  async attach(secret) {
    const { result } = await this.ask('Runtime.evaluate', { expression: `globalThis[${JSON.stringify(secret)}]` });
    this.settle = result.objectId;
    const orders = new LineReader((order) => this[order.type](order));
    const socket = new net.Socket({ fd: ORDERS, readable: true, writable: false });
    socket.on('data', (data) => orders.feed(data));
    socket.on('end', () => this.shutdown());
    parentPort.postMessage({ type: 'attached' });
  }

  ask(method, parameters) {
    return new Promise((resolve, reject) => {
      this.session.post(method, parameters, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }

  // --- messages of the evaluator

  take({ type, count }) {
    if (type === 'finished' && this.running?.count === count) this.running = null;
    this.waiting.get(type)?.();
    this.waiting.delete(type);
  }

  // Whether the message came before the time was over.
  heard(type, milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds, false);
      this.waiting.set(type, () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  // --- orders of the supervisor

  acknowledge({ number }) {
    Atomics.store(this.acknowledged, 0, number);
    Atomics.notify(this.acknowledged, 0);
  }

  execute({ count, code }) {
    this.running = { count, code, source: prepared(code), prefix: prefix_of(code), interrupted: false };
    this.run(this.running);
  }

  async run(run) {
    await this.quiet;
    const { count, code, prefix } = run;
    while (!(await this.asked({ type: 'begin', count, code, prefix }, 'begun'))) continue;
    if (run.interrupted) return;
    try {
      const { result, exceptionDetails } = await this.evaluate(run);
      await this.tell(run, exceptionDetails ? exceptionDetails.exception : result, exceptionDetails);
      await this.ask('Runtime.releaseObjectGroup', { objectGroup: 'cell' });
    } catch (error) {
      // Else it was terminated, by interrupt().
      if (/collected/.test(error.message)) parentPort.postMessage({ type: 'lost', count });
    }
  }

  // Again with another source, as long as that helps: code that does not begin to run, because a name is taken.
  async evaluate({ count, prefix, source }) {
    for (let tries = 0; ; tries += 1) {
      const expression = `${prefix}${source}\n//# sourceURL=${source_name(count)}`;
      const answer = await this.ask('Runtime.evaluate', { expression, objectGroup: 'cell', replMode: true });
      const name = tries < 20 && taken_name(answer.exceptionDetails);
      const other = name && redeclared(source, name);
      if (!other) return answer;
      source = other;
    }
  }

  // Hands the value itself to the evaluator.
  tell(run, value, details) {
    const { objectId, unserializableValue } = value;
    const long = typeof value.value === 'string' && value.value.length > MOST_TEXT;
    const plain = long ? cut(value.value, MOST_TEXT - 100) : value.value;
    const passed = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value: plain };
    const before = details?.lineNumber === 0 ? run.prefix.length : 0;
    const place = details && { count: run.count, line: details.lineNumber + 1, column: details.columnNumber + 1 - before };
    return this.ask('Runtime.callFunctionOn', {
      functionDeclaration: 'function (...words) { this(...words) }',
      objectId: this.settle,
      arguments: [{ value: run.count }, { value: Boolean(details) }, passed, { value: place }],
    });
  }

  // Code that awaits lets the evaluator answer; what does not is terminated, as often as it takes. A termination may hit
  // the evaluator's own functions when it comes too late, so every message is repeated until it is answered.
  interrupt({ count }) {
    const run = this.running;
    if (run?.count !== count || run.interrupted) return;
    run.interrupted = true;
    this.quiet = this.end(run);
  }

  async end(run) {
    let terminated = false;
    while (this.running === run && !(await this.asked({ type: 'abandon', count: run.count }, 'finished'))) {
      terminated = true;
      this.terminate();
    }
    // What the code has left in a queue may go on without an end.
    while (terminated && !(await this.asked({ type: 'ping' }, 'pong'))) this.terminate();
  }

  terminate() {
    this.session.post('Runtime.terminateExecution', () => {});
  }

  // Whether it was answered soon.
  asked(message, answer) {
    const heard = this.heard(answer, STUCK_DELAY);
    parentPort.postMessage(message);
    return heard;
  }

  shutdown() {
    this.session.disconnect();
    parentPort.postMessage({ type: 'shutdown' });
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), EXIT_PATIENCE);
  }
}

// -----------------------------------------------------------------------------------------------------------------

if (!isMainThread) new Controller(workerData);
else if (process.argv[2] === 'evaluator') new Evaluator().start();
else new Supervisor().start();
