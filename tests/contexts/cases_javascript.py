"""Notebooks in JavaScript."""

from cases import Case, Error, Like, Sized, Step

SLEEP = "const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));"

VALUES = [
    Case("the value of the last expression", [Step("1 + 1", value="2"), Step("'text'", value="'text'"), Step("null", value="null")]),
    Case("undefined is no value", [Step("undefined"), Step("let x = 5"), Step("x", value="5"), Step("console.log(x)", stdout="5\n")]),
    Case("empty code", [Step(""), Step("// a comment"), Step("1", value="1")]),
    Case(
        "declarations stay",
        [
            Step("const a = 1; let b = [2]; var c = 3; function f(x) { return x + a; } class P { constructor(x) { this.x = x; } }"),
            Step("b.push(f(9)); [a, b, c, new P(4).x]", value="[ 1, [ 2, 10 ], 3, 4 ]"),
        ],
    ),
    Case(
        "declarations may be repeated",
        [
            Step("const a = 1; let b = 1; class C {}"),
            Step("const a = 2; let b = 2; class C { x = 5 } [a, b, new C().x]", value="[ 2, 2, 5 ]"),
            Step("let a = 3; a = 4; a", value="4"),
        ],
    ),
    Case(
        "also as another kind",
        [
            Step("function f() { return 1; } var v = 1; const c = 1;"),
            Step("const f = () => 2; f()", value="2"),
            Step("let v = 2; v", value="2"),
            Step("function c() { return 3; }\nc()", value="3"),
            Step("class f { two = 2 }\nnew f().two", value="2"),
            Step("const {f, v} = {f: 'f', v: 'v'}; f + v", value="'fv'"),
        ],
    ),
    Case("an assignment to what was const", [Step("const a = 1"), Step("a = 2; a", value="2")]),
    Case("twice in one cell they may not", [Step("let a = 1; let a = 2;", error=Error("SyntaxError", "Identifier 'a' has already been declared")), Step("1", value="1")]),
    Case("an object by itself", [Step("{a: 1, b: [2]}", value="{ a: 1, b: [ 2 ] }", formats={"json": {"a": 1, "b": [2]}}), Step("{ let x = 1; x + 1 }", value="2")]),
    Case(
        "JSON, where it is some",
        [
            Step("[1, 'two', {three: null}]", value="[ 1, 'two', { three: null } ]", formats={"json": [1, "two", {"three": None}]}),
            Step("new Map([[1, 2]])", value="Map(1) { 1 => 2 }", no_formats=("json",)),
            Step("const o = {}; o.self = o; o", value=Like("Circular"), no_formats=("json",)),
            Step("({n: 10n})", value="{ n: 10n }", no_formats=("json",)),
        ],
    ),
    Case("values that are no JSON", [Step("10n ** 20n", value="100000000000000000000n"), Step("NaN", value="NaN"), Step("-0", value="-0"), Step("Symbol('s')", value="Symbol(s)"), Step("(x) => x", value="[Function (anonymous)]")]),
    Case("a promise as a value", [Step("Promise.resolve(3)", value="Promise { 3 }"), Step("await Promise.resolve(3)", value="3")]),
    Case("top-level await", [Step(SLEEP), Step("const x = await (async () => { await sleep(5); return 7; })();\nx", value="7"), Step("for await (const i of [1, 2]) console.log(i)", stdout="1\n2\n")]),
    Case("names that the kernel uses itself", [Step("const process = 1, JSON = 2, Promise = 3, Object = 4, Buffer = 5, globalThis = 6, Error = 7, Map = 8, console = 9; [process, console]", value="[ 1, 9 ]"), Step("JSON + 1", value="3"), Step("throw 5", error=Error("Uncaught", "5"))]),
    Case("strict code", [Step("'use strict'; undeclared = 1", error=Error("ReferenceError", "undeclared is not defined", Like(r"<cell 1>:1:26"))), Step("undeclared = 1; undeclared", value="1")]),
    Case("large code and a large value", [Step("const s = '" + "x" * 3_000_000 + "'; s.length", value="3000000"), Step("s", value=Sized(3_000_002, "x'"))]),
    Case(
        "values that are too large",
        [
            Step("'y'.repeat(20 << 20)", value=Like(r"\A'yyy", r"characters more\)'\Z")),
            Step("Array.from({length: 3e6}, Math.random)", value=Like("2999000 more items"), no_formats=("json",)),
            Step("Array(4e6).fill([])", value=Like("more items"), no_formats=("json",)),
            Step("Array(300).fill('z'.repeat(1 << 20))", value=Like(r"characters more\)\Z"), no_formats=("json",)),
            Step("display({html: '<b>'.repeat(10 << 20), text: 'short'})", displays=[{"text": "short"}]),
            Step("throw new Error('x'.repeat(20 << 20))", error=Error("Error", Like(r"characters more\)\Z"))),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "values that other readers of JSON would not take",
        [
            Step("const nested = (depth) => depth > 1 ? [nested(depth - 1)] : []"),
            Step("nested(50)", value=Like("Array"), formats={"json": eval("[" * 50 + "]" * 50)}),
            Step("nested(51)", value=Like("Array"), no_formats=("json",)),
            Step("nested(110)", value=Like("Array"), no_formats=("json",)),
            Step("[1e308, NaN, 1e400]", value="[ 1e+308, NaN, Infinity ]", no_formats=("json",)),
            Step("const shared = [[1]]; [shared, [[shared]], {d: new Date(0)}]", value=Like("1970"), formats={"json": [[[1]], [[[[1]]]], {"d": "1970-01-01T00:00:00.000Z"}]}),
        ],
    ),
    Case("text outside of the basic plane", [Step("console.log('naïve 漢字 🎉'); '🎉'", stdout="naïve 漢字 🎉\n", value="'🎉'"), Step("({s: '\\ud800'})", value=Like("s"), formats={"json": {"s": "�"}})]),
]

MODULES = [
    Case("require", [Step("const path = require('path'); path.join('a', 'b')", value="'a/b'"), Step("require('node:os').EOL", value="'\\n'")]),
    Case("dynamic import", [Step("const { join } = await import('node:path'); join('a', 'b')", value="'a/b'"), Step("import('path').then((m) => console.log(m.sep)); undefined", stdout="/\n")]),
    Case(
        "static imports",
        [
            Step(
                "import fs from 'fs';\nimport { join, sep as separator } from 'node:path'\nimport * as os from 'os'\nimport util, { inspect } from 'util';\nimport 'node:events'\n"
                "[typeof fs.readFileSync, join('a', 'b'), separator, typeof os.cpus, util.inspect === inspect]",
                value="[ 'function', 'a/b', '/', 'function', true ]",
            ),
            Step("import {\n  join,\n  dirname as d,\n} from 'path';\nthrow new Error(d('/a/b'))", error=Error("Error", "/a", Like(r"<cell 2>:5:7"))),
        ],
    ),
    Case(
        "words that only look like imports",
        [
            Step("const o = { import(x) { return x; }, b: 'import x from \"y\"' };\n// import a from 'b'\no.import(3) + `import ${o.import(1)} from` + /import z from 'q'/.source", value="\"3import 1 fromimport z from 'q'\""),
        ],
    ),
    Case(
        "modules of the current folder",
        [
            Step("const fs = require('fs'); fs.writeFileSync('m.mjs', 'export const x = 5; export default 6'); fs.writeFileSync('c.cjs', 'exports.y = 7'); fs.writeFileSync('d.json', '{\"z\": 8}')"),
            Step("import six, { x } from './m.mjs';\nimport { y } from './c.cjs';\n[six, x, y, require('./c.cjs').y, require('./d.json').z]", value="[ 6, 5, 7, 7, 8 ]"),
            Step("fs.mkdirSync('node_modules/p', {recursive: true}); fs.writeFileSync('node_modules/p/package.json', '{\"name\": \"p\", \"type\": \"module\", \"exports\": \"./i.js\"}'); fs.writeFileSync('node_modules/p/i.js', 'export const q = 9')"),
            Step("import { q } from 'p';\nq", value="9"),
            Step("fs.mkdirSync('sub'); fs.writeFileSync('sub/n.mjs', 'export const deep = 1'); process.chdir('sub'); (await import('./n.mjs')).deep", value="1"),
        ],
    ),
    Case("an export that is missing", [Step("import { nope } from 'fs'", error=Error("SyntaxError", Like("does not provide an export named 'nope'")))]),
    Case("a module that is missing", [Step("import x from './missing.mjs'", error=Error("Error", Like("Cannot find module '.*/missing.mjs'$"))), Step("require('no-such-package')", error=Error("Error", Like("Cannot find module")))]),
    Case("import.meta", [Step("import.meta.url.startsWith('file:///')", value="true"), Step("import.meta.dirname === process.cwd()", value="true")]),
    Case("main", [Step("require.main === module", value="true"), Step("module.exports = {a: 1}; module.exports.a", value="1")]),
]

OUTPUT = [
    Case("both streams", [Step("console.log('a', {b: 1}); console.error('c'); console.warn('d'); process.stdout.write('e')", stdout="a { b: 1 }\ne", stderr="c\nd\n", value="true")]),
    Case("output and value in their order", [Step("console.log('a'); display(1); console.log('b'); 2", stdout="a\nb\n", displays=[{"text": "1"}], value="2", order=["a\n", "<display>", "b\n", "<value>"])]),
    Case(
        "child processes are captured, in order",
        [Step("const { execSync, spawnSync } = require('child_process');\nconsole.log('one');\nexecSync('echo two', {stdio: 'inherit'});\nspawnSync('sh', ['-c', 'echo three; echo err >&2'], {stdio: 'inherit'});\nconsole.log('four')", stdout="one\ntwo\nthree\nfour\n", stderr="err\n")],
    ),
    Case("a child has only its three descriptors", [Step("require('child_process').execSync('ls /proc/self/fd', {stdio: 'inherit'}), undefined", stdout="0\n1\n2\n3\n")]),
    Case("what is no UTF-8 is replaced, and pieces are joined", [Step("process.stdout.write(Buffer.from([0x61, 0xff, 0x62])); for (const b of Buffer.from('€')) { require('fs').writeSync(1, Buffer.from([b])); await new Promise((r) => setTimeout(r, 20)); }", stdout="a�b€")]),
    Case("much output", [Step("for (let i = 0; i < 50000; i++) console.log('0123456789'.repeat(5))", stdout=Sized(50_000 * 51, "0123456789\n"))]),
    Case("one long write", [Step("process.stdout.write('y'.repeat(5_000_000)), undefined", stdout=Sized(5_000_000, "y"))]),
    Case("much output of children, on both streams", [Step("const c = 'head -c 5000000 /dev/zero | tr \"\\\\0\" x'; require('child_process').execSync(`(${c}) & (${c}) >&2; wait`, {stdio: 'inherit'}), undefined", stdout=Sized(5_000_000, "x"), stderr=Sized(5_000_000, "x"))]),
    Case("a timer prints after the execution", [Step("setTimeout(() => console.log('late'), 300), undefined", late_stdout="late\n"), Step("1", value="1")]),
    Case("descriptors closed", [Step("require('fs').closeSync(1); require('fs').closeSync(2)"), Step("console.log('again')", stdout="again\n")]),
    Case("process.stdout ended", [Step("process.stdout.end('x'), undefined", stdout="x"), Step("console.log('again')", stdout="again\n")]),
    Case("stdin is empty", [Step("require('fs').readFileSync(0).length", value="0")]),
]

RICH = [
    Case("display of formats", [Step("display({html: '<b>x</b>'}); display({markdown: '*x*', latex: '$x$', text: 'x'})", displays=[{"html": "<b>x</b>"}, {"markdown": "*x*", "latex": "$x$", "text": "x"}])]),
    Case("display of values", [Step("display({a: 1}, 'two'); display([3])", displays=[{"text": "{ a: 1 }", "json": {"a": 1}}, {"text": "'two'"}, {"json": [3]}])]),
    Case("display of bytes", [Step("display({png: Buffer.from('png')}); display({'image/jpeg': new Uint8Array([1, 2])}); display({'application/json': {x: 1}})", displays=[{"png": "cG5n"}, {"jpeg": "AQI="}, {"json": {"x": 1}}])]),
    Case("an object that knows how to be displayed", [Step("({ [Symbol.for('Jupyter.display')]() { return {'text/html': '<i>', 'text/plain': 'plain', 'x/y': 1}; } })", value="plain", formats={"html": "<i>", "extra": {"x/y": 1}})]),
    Case("an object that cannot be shown", [Step("({ get [Symbol.toStringTag]() { throw new Error('no'); } })", value=Like("cannot be shown|Object|\\{")), Step("1", value="1")]),
]

ERRORS = [
    Case(
        "an error has its line",
        [
            Step("let x = 1;\nconsole.log('before');\nthrow new TypeError('no');", stdout="before\n", order=["before\n", "<error>"], error=Error("TypeError", "no", Like(r"\A<cell 1>:3\nthrow new TypeError\('no'\);\n      \^\nTypeError: no\n    at <cell 1>:3:7\n\Z"))),
            Step("x", value="1"),
        ],
    ),
    Case(
        "an error shows the places in other cells",
        [
            Step("function f(x) {\n  return g(x);\n}"),
            Step("function g(x) { return x.missing.property; }"),
            Step("f(1)", error=Error("TypeError", Like("undefined"), Like(r"at g \(<cell 2>:1:\d+\)\n    at f \(<cell 1>:2:10\)\n    at <cell 3>:1:1\n\Z"))),
            Step("await Promise.resolve().then(() => f(1))", error=Error("TypeError", Like("undefined"), Like(r"at g \(<cell 2>:1:\d+\)\n    at f \(<cell 1>:2:10\)\n"))),
        ],
    ),
    Case("a syntax error", [Step("let x = 1;\nlet = y z", error=Error("SyntaxError", Like("."), Like(r"\A<cell 1>:2\nlet = y z\n +\^\nSyntaxError: .*\n\Z"))), Step("x", error=Error("ReferenceError", "x is not defined"))]),
    Case("a bracket that is open", [Step("f(1, [2", error=Error("SyntaxError", Like(".")))]),
    Case("causes are told", [Step("throw new Error('outer', {cause: new Error('inner')})", error=Error("Error", "outer", Like("outer", r"\[cause\]: Error: inner")))]),
    Case("an error of the user's own class", [Step("class Mine extends Error { name = 'Mine'; code = 7 }\nthrow new Mine('oh')", error=Error("Mine", "oh", Like("Mine: oh", "code: 7")))]),
    Case("what is no error is thrown", [Step("throw {a: 1}", error=Error("Uncaught", "{ a: 1 }")), Step("throw null", error=Error("Uncaught", "null"))]),
    Case(
        "whatever is thrown",
        [
            Step("throw undefined", error=Error("Uncaught", "undefined")),
            Step("throw Symbol('s')", error=Error("Uncaught", "Symbol(s)")),
            Step("throw 10n", error=Error("Uncaught", "10n")),
            Step("throw { get stack() { throw 1; }, toString() { throw 2; } }", error=Error("Uncaught", Like("."))),
            Step("throw { get [Symbol.toStringTag]() { throw 1; } }", error=Error("Uncaught", Like("."))),
            Step("throw { [require('util').inspect.custom]() { throw new Error('no'); } }", error=Error("Uncaught", "[object that cannot be shown]")),
            Step("throw Object.create(null)", error=Error("Uncaught", "[Object: null prototype] {}")),
            Step("await Promise.reject(null)", error=Error("Uncaught", "null")),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "proxies are thrown and given",
        [
            Step("const trap = () => { throw new Error('trapped'); };\nconst names = Object.getOwnPropertyNames(Reflect);\nconst evil = new Proxy(function () {}, Object.fromEntries(names.map((n) => [n, trap])));\nundefined"),
            Step("throw evil", error=Error("Uncaught", Like("."))),
            Step("evil", value=Like(".")),
            Step("Promise.reject(evil); undefined", error=Error("Uncaught", Like("."))),
            Step("display(evil)", displays=[{"text": Like(".")}]),
            Step("throw new Proxy(new Error('behind'), {})", error=Error("Error", "behind")),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "errors that are not what they seem",
        [
            Step("const e = new Error('x'); e.stack = 5; throw e", error=Error("Uncaught", "[5]")),
            Step("const f = new Error('x'); Object.defineProperty(f, 'name', { get() { throw 1; } }); throw f", error=Error("Error", "x")),
            Step("const g = new Error('x'); g.message = { toString() { throw 1; } }; throw g", error=Error("Error", "")),
            Step("const h = new Error('x'); Object.defineProperty(h, 'stack', { get() { throw 1; } }); throw h", error=Error("Uncaught", Like("."))),
            Step("class T extends Error { get name() { return null; } }\nthrow new T('x')", error=Error("null", "x")),
            Step("Error.prepareStackTrace = () => { throw new Error('prepare'); }; throw new Error('y')", error=Error(Like("Uncaught|Error"), Like("."))),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "values whose inspection fails",
        [
            Step("({ [require('util').inspect.custom]() { throw new Error('no'); } })", value="[object that cannot be shown]"),
            Step("({ [Symbol.for('Jupyter.display')]() { throw new Error('no'); } })", value=Like("Jupyter.display")),
            Step("({ [Symbol.for('Jupyter.display')]() { return {'application/json': 10n}; } })", value=Like("Jupyter.display")),
            Step("({ toJSON() { throw new Error('no'); }, a: 1 })", value=Like("a: 1"), no_formats=("json",)),
            Step("display({html: 10n})", error=Error("TypeError", Like("BigInt"))),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "rejections that nobody handles",
        [
            Step("Promise.reject(undefined); undefined", error=Error("Uncaught", "undefined")),
            Step("(async () => { throw new TypeError('async'); })(); 5", value="5", error=Error("TypeError", "async")),
            Step("Promise.reject(1); Promise.reject(2); await new Promise((r) => setTimeout(r, 50))", stderr=Like(r"\A(Uncaught 2\n)?\Z"), error=Error("Uncaught", "1")),
            Step("const p = Promise.reject(new Error('handled')); p.catch(() => {}); 'alive'", value="'alive'"),
        ],
    ),
    Case(
        "the controller fails",
        [
            Step(
                "const { Worker } = require('worker_threads'); const { emit } = require('events').prototype;\n"
                "Worker.prototype.emit = function (name, ...words) { return name === 'message' ? this.postMessage(null) : emit.call(this, name, ...words); };\n"
                "console.log('go'); await new Promise(() => {})",
                stdout="go\n",
                stderr=Like("the context's controller failed: TypeError"),
                interrupt_after="go\n",
                ends=True,
            )
        ],
    ),
    Case("a system error", [Step("require('fs').readFileSync('/missing')", error=Error("Error", Like("ENOENT"), Like("ENOENT", "<cell 1>:1", "code: 'ENOENT'")))]),
    Case("a rejected promise that nobody handles", [Step("Promise.reject(new Error('lonely')); await new Promise((r) => setTimeout(r, 1000))", error=Error("Error", "lonely")), Step("1", value="1")]),
    Case("an error in a timer", [Step("setTimeout(() => { throw new Error('in a timer'); }, 10); await new Promise(() => {})", error=Error("Error", "in a timer", Like("<cell 1>:1"))), Step("1", value="1")]),
    Case("an error between executions", [Step("setTimeout(() => { throw new Error('later'); }, 300), undefined", late_stderr="Uncaught Error: later\n    at Timeout._onTimeout (<cell 1>:1:26)\n"), Step("1", value="1")]),
    Case("endless recursion", [Step("function f() { f(); } f()", error=Error("RangeError", Like("call stack")))]),
    Case("the user's own handler", [Step("process.on('uncaughtException', (e) => console.log('mine:', e.message)); setTimeout(() => { throw new Error('x'); }, 1); await new Promise((r) => setTimeout(r, 50))", stdout="mine: x\n")]),
    Case("process.exit", [Step("let x = 1; process.exit(3)", error=Error("SystemExit", "3")), Step("x", value="1")]),
    Case("stacks in the user's hand", [Step("console.log(new Error('seen').stack)", stdout="Error: seen\n    at <cell 1>:1:13\n")]),
    Case("the process ends", [Step("console.log('last'); process.reallyExit(3)", stdout="last\n", ends=True)]),
    Case("the process is killed", [Step("process.kill(process.pid, 'SIGKILL')", stderr=Like(""), ends=True)]),
]


def interrupted(code):
    return Step("console.log('go');\n" + code, stdout=Like(r"\Ago\n"), interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt"))


INTERRUPTS = [
    Case("in a loop", [Step("let x = 1"), interrupted("while (true) {}"), Step("x", value="1")]),
    Case("awaiting", [Step("let x = 2"), interrupted("await new Promise(() => {})"), Step("x", value="2")]),
    Case("in a loop after an await", [Step(SLEEP), interrupted("await sleep(1); for (;;) {}"), Step("3", value="3")]),
    Case("in a loop of awaits, which ends with it", [Step(SLEEP + " let ticks = 0"), interrupted("while (true) { await sleep(5); ticks++; }"), Step("const before = ticks; await sleep(100); ticks - before", value="0")]),
    Case("in a loop of other timers", [Step("let ticks = 0; const { setTimeout: sleep } = require('timers/promises'); const again = require('util').promisify(setTimeout)"), interrupted("while (true) { await sleep(5); await again(5); ticks++; }"), Step("const before = ticks; await sleep(100); ticks - before", value="0")]),
    Case(
        "held up while its end is told",
        [
            Step(
                "const fs = require('fs'); const { writeSync } = fs; const { spawnSync } = require('child_process');\n"
                "fs.writeSync = (fd, ...rest) => { const count = writeSync(fd, ...rest); if (fd === 4) { fs.writeSync = writeSync; spawnSync('sleep', ['0.4']); } return count; };\n"
                "console.log('go'); await new Promise(() => {})",
                stdout="go\n",
                interrupt_after="go\n",
                status="interrupted",
                error=Error("KeyboardInterrupt"),
            ),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case("in a callback", [interrupted("setTimeout(() => { for (;;) {} }, 1); await new Promise(() => {})"), Step("4", value="4")]),
    Case("in a tick", [interrupted("process.nextTick(() => { for (;;) {} }); await new Promise(() => {})"), Step("await new Promise((r) => setTimeout(r, 5, 'timers go on'))", value="'timers go on'")]),
    Case("printing all the time", [interrupted("for (;;) console.log('x'.repeat(1000))"), Step("console.log('y')", stdout="y\n")]),
    Case("showing all the time", [Step("console.log('go'); for (;;) display('x'.repeat(100000))", stdout="go\n", displays=None, interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")), Step("5", value="5")]),
    Case("waiting for a child", [interrupted("require('child_process').execSync('sleep 100')"), Step("6", value="6")]),
    Case("waiting for memory", [interrupted("Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)"), Step("7", value="7")]),
    Case("finally is not run by termination, but the state stays", [Step("let y = 0"), interrupted("try { for (;;) y++; } finally { y = -1; }"), Step("y > 0", value="true")]),
    Case("where errors are taken by the user", [Step("process.setUncaughtExceptionCaptureCallback(() => {})"), interrupted("for (;;) {}"), Step("1 + 1", value="2")]),
    Case("in ticks without an end", [step for i in range(8) for step in (interrupted("process.nextTick(function g() { process.nextTick(g); })"), Step(f"await new Promise((r) => setTimeout(r, 5, {i}))", value=f"{i}"))]),
    Case("in promises without an end", [step for i in range(4) for step in (interrupted("(function g() { Promise.resolve().then(g); })()"), Step(f"await new Promise((r) => setTimeout(r, 5, {i}))", value=f"{i}"))]),
    Case(
        "while a value is described",
        [
            Step("const loop = () => { console.log('go'); for (;;) {} }"),
            Step("({ toJSON: loop })", stdout="go\n", interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")),
            Step("1", value="1"),
            Step("({ [require('util').inspect.custom]: loop })", stdout="go\n", interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")),
            Step("2", value="2"),
            Step("throw { [require('util').inspect.custom]: loop }", stdout="go\n", interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")),
            Step("await new Promise((r) => setTimeout(r, 5, 3))", value="3"),
        ],
    ),
    Case("many times", [step for i in range(8) for step in (interrupted("for (;;) {}"), interrupted("await new Promise(() => {})"), Step(f"{i}", value=f"{i}"))]),
]

CASES = VALUES + MODULES + OUTPUT + RICH + ERRORS + INTERRUPTS
