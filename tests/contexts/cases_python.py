"""Notebooks in Python. Each case is run with every engine of the kernel unless it names one."""

import textwrap

from cases import Case, Error, Like, Picture, Sized, Step

DRAW_LINE = "plt.plot([1, 4, 9])"
IMPORT_PYPLOT = "import matplotlib.pyplot as plt"

VALUES = [
    Case("the value of the last expression", [Step("1 + 1", value="2"), Step("'text'", value="'text'")]),
    Case(
        "an error where the current folder is gone",
        [
            Step("import os\nkept = 5\nos.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')"),
            Step("1 / 0", status="error", error=Error("ZeroDivisionError", "division by zero")),
            Step("kept", value="5"),
        ],
    ),
    Case("None is no value", [Step("None"), Step("print('x')", stdout="x\n")]),
    Case("an assignment has no value", [Step("x = 5"), Step("x", value="5")]),
    Case("a semicolon at the end keeps the value back", [Step("5;"), Step("5", value="5")]),
    Case(
        "a semicolon before a comment",
        [
            Step("5;  # five"),
            Step("5;\n\n# and\n  # so on\n"),
            Step("5  # not here;", value="5"),
            Step("'a;'", value="'a;'"),
            Step('x = """\n;"""\nx;'),
            Step("x", value="'\\n;'"),
            Step("[1,\n 2];  \n"),
        ],
    ),
    Case(
        "lines are counted over comments, strings and continuations",
        [
            Step("# one\n\nx = '\\\nfour'\n# five\ny = 1 + \\\n    2  # seven\n1 / 0  # eight\n# nine", error=Error("ZeroDivisionError", "division by zero", Like(r"File <cell 1>, line 8, in <module>\n    1 / 0  # eight\n"))),
            Step("x = 1\n\n\nx / 0;  # four\n\n", error=Error("ZeroDivisionError", "division by zero", Like(r"File <cell 2>, line 4, in <module>\n    x / 0;"))),
        ],
    ),
    Case("empty code", [Step(""), Step("   \n\n"), Step("# a comment"), Step("1", value="1")]),
    Case(
        "state survives",
        [
            Step("import math\nnumbers = [1, 2]\ndef area(r):\n    return math.pi * r ** 2"),
            Step("numbers.append(3)"),
            Step("sum(numbers), round(area(2), 3)", value="(6, 12.566)"),
        ],
    ),
    Case("the last value is _", [Step("20", value="20"), Step("_ + 1", value="21"), Step("_ + __", value="41")]),
    Case("the user's own _ is left alone", [Step("_ = 'mine'"), Step("5", value="5"), Step("_", value="'mine'")]),
    Case("a loop shows nothing", [Step("for i in range(3):\n    i")]),
    Case("a large value", [Step("'x' * 5_000_000", value=Sized(5_000_002, "x'"))]),
    Case(
        "values that are too large",
        [
            Step("list(range(10_000_000))", value=Like(r"\A\[0,\s+1,", r"(\.\.\.\]|…)\Z"), no_formats=("json",)),
            Step("b'\\0' * (20 << 20)", value=Like(r"\Ab'\\x00", r"… \(20971520 in all\)\Z")),
            Step("'x' * (70 << 20)", value=Like(r"\A'xxx", r"… \(73400320 in all\)\Z")),
            Step("[[[]] * 4_000_000]", value=Like(r"\A\[\[\[\],"), no_formats=("json",)),
            Step("[[[0] * 1000] * 1000] * 1000", value=Like(r"\A\[\[\[0,", r"…\Z"), no_formats=("json",)),
            Step("import random\n[random.random() for i in range(3_000_000)]", value=Like(r"\A\[0\."), no_formats=("json",)),
            Step("['x' * (2 << 20)]", value=Sized((2 << 20) + 4, "[x']"), no_formats=("json",)),
            Step("class Long:\n    def __repr__(self): return '\\0' * (30 << 20)\nLong()", value=Like(r"characters more\)\Z")),
            Step("display({'text/plain': 'short', 'text/html': '<b>' * (10 << 20)}, raw=True)", displays=[{"text": "short"}]),
            Step("raise ValueError('x' * (70 << 20))", error=Error("ValueError", Like(r"characters more\)\Z"))),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "values that other readers of JSON would not take",
        [
            Step("import math\n[math.factorial(n) for n in (5, 170, 171)]", value=Like(r"\A\[120,"), no_formats=("json",)),
            Step("{'f': 10 ** 400}", value=Like(r"\A\{'f': 10000"), no_formats=("json",)),
            Step("[2 ** 64 - 1, -2 ** 63]", value="[18446744073709551615, -9223372036854775808]", formats={"json": [2**64 - 1, -(2**63)]}),
            Step("[2 ** 64]", value="[18446744073709551616]", no_formats=("json",)),
            Step("[1e308, float('inf')]", value="[1e+308, inf]", no_formats=("json",)),
            Step("def nested(depth): return [nested(depth - 1)] if depth > 1 else []"),
            Step("nested(50)", value="[" * 50 + "]" * 50, formats={"json": eval("[" * 50 + "]" * 50)}),
            Step("nested(51)", value="[" * 51 + "]" * 51, no_formats=("json",)),
            Step("len({i: 0 for i in range(8000)})", value="8000"),
            Step("{i: 0 for i in range(20000)}", value=Like(r"\A\{0: 0,"), no_formats=("json",)),
            Step("nested(110)", value="[" * 110 + "]" * 110, no_formats=("json",)),
            Step("display({'application/json': {'n': 2 ** 70}, 'text/plain': 'only text'}, raw=True)", displays=[{"text": "only text"}]),
        ],
    ),
    Case("the representation of everything", [Step("x = [(), (1,), {1}, frozenset([2]), {3: {'a': b'b'}}, set(), {}, [[]]]\nx.append(x)\nx", value="[(), (1,), {1}, frozenset({2}), {3: {'a': b'b'}}, set(), {}, [[]], [...]]", no_formats=("json",))], "builtin"),
    Case("a cell that is indented", [Step("    x = 1\n    if x:\n        x += 1\n    x", value="2"), Step("\n  y = 5\n\n  y", value="5")]),
    Case(
        "a value whose representation fails",
        [
            Step("class Bad:\n    def __repr__(self): raise ValueError('no')\nBad()", stderr=Like("line 2, in __repr__", "ValueError: no")),
            Step("[Bad()]", stderr=Like("ValueError: no")),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case(
        "the module is __main__ and has no file",
        [
            Step("__name__", value="'__main__'"),
            Step("if __name__ == '__main__':\n    print('main')", stdout="main\n"),
            Step("'__file__' in globals()", value="False"),
            Step("import sys\nsys.argv", value="['']"),
            Step("sys.modules['__main__'].__dict__ is globals()", value="True"),
        ],
    ),
    Case(
        "names of the kernel are not seen",
        [Step("[name for name in globals() if name in ('Kernel', 'Channel', 'json', 'os', 'ast')]", value="[]")],
    ),
    Case(
        "modules of the current folder can be imported",
        [
            Step("with open('helper.py', 'w') as file:\n    file.write('answer = 42\\n')", value=None),
            Step("import helper\nhelper.answer", value="42"),
        ],
    ),
    Case(
        "from __future__ holds for later cells",
        [
            Step("from __future__ import annotations"),
            Step("def f(x: Undefined): pass\nf.__annotations__", value="{'x': 'Undefined'}"),
        ],
    ),
    Case(
        "classes of cells can be pickled",
        [
            Step("class Point:\n    def __init__(self, x): self.x = x"),
            Step("import pickle\npickle.loads(pickle.dumps(Point(3))).x", value="3"),
            Step("pickle.loads(pickle.dumps(Point)) is Point", value="True"),
        ],
    ),
    Case(
        "dataclasses and type hints",
        [
            Step("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2"),
            Step("P(1)", value="P(x=1, y=2)"),
            Step("import typing\ntyping.get_type_hints(P)", value=Like("'x': .*int")),
        ],
    ),
    Case(
        "the source of a function can be read",
        [
            Step("def twice(x):\n    return 2 * x\n"),
            Step("import inspect\nprint(inspect.getsource(twice))", stdout="def twice(x):\n    return 2 * x\n\n"),
            Step("def thrice(x):\n    return 3 * x"),
            Step("print(inspect.getsource(thrice))", stdout="def thrice(x):\n    return 3 * x\n\n"),
        ],
    ),
    Case("text outside of the basic plane", [Step("'naïve 漢字 🎉'", value="'naïve 漢字 🎉'")]),
    Case("a lone surrogate", [Step("'\\ud800'", value=Like(r"^'(\?|\\ud800)'$")), Step("1", value="1")]),
    Case("many lines of code", [Step("\n".join(f"x{i} = {i}" for i in range(20000)) + "\nx19999", value="19999")]),
]

OUTPUT = [
    Case("both streams", [Step("import sys\nprint('a')\nprint('b', file=sys.stderr)", stdout="a\n", stderr="b\n")]),
    Case("a line without an end", [Step("print('a', end='')", stdout="a"), Step("print('b')", stdout="b\n")]),
    Case("print with all its arguments", [Step("print(1, 2, sep='-', end='!\\n', flush=True)", stdout="1-2!\n")]),
    Case(
        "output and value in their order",
        [Step("print('first')\n7", stdout="first\n", value="7", order=["first\n", "<value>"])],
    ),
    Case("unicode", [Step("print('naïve 漢字 🎉')", stdout="naïve 漢字 🎉\n")]),
    Case(
        "what is no UTF-8 is replaced",
        [
            Step("import os\nn = os.write(1, b'a\\xffb\\n')", stdout="a�b\n"),
            Step("n = os.write(1, b'\\xe2\\x82')", stdout="�"),
            Step("print('ok')", stdout="ok\n"),
        ],
    ),
    Case(
        "a character in two pieces is joined",
        [Step("import os, time\nfor byte in '€🎉'.encode():\n    n = os.write(1, bytes([byte]))\n    time.sleep(0.05)", stdout="€🎉")],
    ),
    Case(
        "child processes are captured, in order",
        [
            Step(
                "import os, subprocess\n"
                "print('one')\n"
                "n = os.system('echo two')\n"
                "print('three, ', end='')\n"
                "r = subprocess.run(['echo', 'four'])\n"
                "print('five')",
                stdout="one\ntwo\nthree, four\nfive\n",
            ),
            Step("n = os.system('echo wrong >&2; exit 3')\nos.WEXITSTATUS(n)", stderr="wrong\n", value="3"),
        ],
    ),
    Case("output of a command as a value", [Step("import subprocess\nsubprocess.check_output(['echo', 'x'])", value="b'x\\n'")]),
    Case(
        "C code is captured",
        [
            Step("import ctypes\nlibc = ctypes.CDLL(None)"),
            Step("n = libc.printf(b'line\\n')", stdout="line\n"),
            Step("n = libc.printf(b'no end')", stdout="no end"),
        ],
    ),
    Case("much output of print", [Step("for i in range(50_000):\n    print('0123456789' * 5)", stdout=Sized(50_000 * 51, "0123456789\n"))]),
    Case(
        "much output of children, on both streams",
        [
            Step(
                "import subprocess\n"
                "command = 'head -c 5000000 /dev/zero | tr \"\\\\0\" x'\n"
                "errors = subprocess.Popen(command + ' >&2', shell=True)\n"
                "status = subprocess.call(command, shell=True) or errors.wait()\n"
                "status",
                stdout=Sized(5_000_000, "x"),
                stderr=Sized(5_000_000, "x"),
                value="0",
            )
        ],
    ),
    Case("one long write", [Step("import sys\nn = sys.stdout.write('y' * 5_000_000)", stdout=Sized(5_000_000, "y"))]),
    Case(
        "sys.stdout replaced",
        [
            Step("import io, sys\nfile = sys.stdout = sys.stderr = io.StringIO()\nprint('kept')\nprint('too', file=sys.stderr)"),
            Step("print('back')\nprint('too', file=sys.stderr)\nfile.getvalue()", stdout="back\n", stderr="too\n", value="'kept\\ntoo\\n'"),
        ],
    ),
    Case(
        "sys.stdout replaced by what is no file",
        [
            Step("import sys\nsys.stdout = sys.stderr = 5"),
            Step("print('back')", stdout="back\n"),
            Step("sys.stdout = sys.stderr = None\nprint('lost')"),
            Step("print('back')\nprint('too', file=sys.stderr)", stdout="back\n", stderr="too\n"),
        ],
    ),
    Case("sys.stdout deleted", [Step("import sys\ndel sys.stdout, sys.stderr"), Step("print('back')\nprint('too', file=sys.stderr)", stdout="back\n", stderr="too\n")], "builtin"),
    Case(
        "sys.stdout replaced by what fails",
        [
            Step("import sys\nclass Bad:\n    closed = property(lambda self: 1 / 0)\n    def write(self, text): raise SystemExit(text)\n    flush = write\nsys.stdout = Bad()"),
            Step("print('back')", stdout="back\n"),
        ],
    ),
    Case(
        "sys.stdout detached",
        [
            Step("import sys\nraw = sys.stdout.detach()\nraw.write(b'raw\\n')\nerrors = sys.stderr.detach();", stdout="raw\n"),
            Step("print('back')\nprint('too', file=sys.stderr)", stdout="back\n", stderr="too\n"),
        ],
    ),
    Case(
        "what was wrapped around sys.stdout goes away",
        [
            Step("import io, sys\nwrapper = io.TextIOWrapper(sys.stdout.buffer)\nwriter = io.BufferedWriter(sys.stdout.buffer.raw)"),
            Step("del wrapper, writer\nprint('still here')", stdout="still here\n"),
        ],
    ),
    Case(
        "redirect_stdout",
        [Step("import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f:\n    print('x')\nf.getvalue()", value="'x\\n'")],
    ),
    Case(
        "sys.stdout wrapped anew",
        [Step("import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\nprint('wrapped')", stdout="wrapped\n")],
    ),
    Case("sys.stdout with another encoding", [Step("import sys\nsys.stdout.reconfigure(encoding='latin-1')\nprint('ü')", stdout="�\n"), Step("print('ü')", stdout="ü\n")]),
    Case("sys.stdout closed", [Step("import sys\nsys.stdout.close()"), Step("print('again')", stdout="again\n")]),
    Case(
        "sys.stdout is a file that was closed",
        [Step("import sys\nwith open('out', 'w') as sys.stdout:\n    print('x')"), Step("print('again')", stdout="again\n")],
    ),
    Case(
        "descriptors closed",
        [Step("import os\nos.close(0)\nos.close(1)\nos.close(2)"), Step("print('again')\nos.system('echo child')", stdout="again\nchild\n", value="0")],
    ),
    Case(
        "descriptors replaced",
        [
            Step("import os\nfile = open('log', 'w')\nn = os.dup2(file.fileno(), 1)\nn = os.system('echo hidden')"),
            Step("print('seen')", stdout="seen\n"),
            Step("open('log').read()", value="'hidden\\n'"),
        ],
    ),
    Case(
        "output redirected and put back by the user",
        [
            Step(
                "import os\nsaved = os.dup(1)\nfile = open('log', 'w')\nos.dup2(file.fileno(), 1)\nos.system('echo hidden')\n"
                "os.dup2(saved, 1)\nos.system('echo seen');",
                stdout="seen\n",
            ),
        ],
    ),
    Case(
        "a thread prints after the execution",
        [
            Step(
                "import threading, time\nthread = threading.Timer(0.3, print, ['late'])\nthread.start()",
                late_stdout="late\n",
            ),
            Step("thread.join()"),
        ],
    ),
    Case("a child prints after the execution", [Step("import subprocess\np = subprocess.Popen('sleep 0.3; echo late', shell=True)", late_stdout="late\n")]),
    Case(
        "lines of threads stay whole",
        [
            Step(
                "import threading\n"
                "def work(c):\n    for i in range(200): print(c * 40)\n"
                "threads = [threading.Thread(target=work, args=(c,)) for c in 'abcd']\n"
                "for t in threads: t.start()\n"
                "for t in threads: t.join()",
                stdout=Like(r"\A(?:(?:a{40}|b{40}|c{40}|d{40})\n){800}\Z"),
            )
        ],
    ),
    Case("all other threads can be joined", [Step("import threading\n[t.join() for t in threading.enumerate() if t is not threading.main_thread()]", value="[]")]),
    Case("logging", [Step("import logging\nlogging.warning('careful')", stderr="WARNING:root:careful\n")]),
    Case(
        "warnings come with every cell",
        [
            Step("import warnings\nwarnings.warn('careful')", stderr=Like("^<cell 1>:2: UserWarning: careful\n  warnings.warn")),
            Step("x = 1\nwarnings.warn('careful')", stderr=Like("^<cell 2>:2: UserWarning: careful\n")),
        ],
    ),
    Case("a carriage return is kept", [Step("print('1%\\r100%')", stdout="1%\r100%\n")]),
]

ERRORS = [
    Case(
        "an error has its line",
        [
            Step(
                "x = 1\nprint('before')\nx / 0\nprint('after')",
                stdout="before\n",
                order=["before\n", "<error>"],
                error=Error(
                    "ZeroDivisionError",
                    "division by zero",
                    Like(r"\ATraceback \(most recent call last\):\n  File <cell 1>, line 3, in <module>\n    x / 0\n", r"^ZeroDivisionError: division by zero\n\Z"),
                ),
            ),
            Step("x", value="1"),
        ],
    ),
    Case(
        "an error shows the lines of other cells",
        [
            Step("def f(x):\n    # a comment\n    return g(x)"),
            Step("def g(x):\n    return 1 / x"),
            Step(
                "f(0)",
                error=Error(
                    "ZeroDivisionError",
                    "division by zero",
                    Like(
                        r"  File <cell 3>, line 1, in <module>\n    f\(0\)\n(.*\n)*?  File <cell 1>, line 3, in f\n    return g\(x\)\n"
                        r"(.*\n)*?  File <cell 2>, line 2, in g\n    return 1 / x\n"
                    ),
                ),
            ),
        ],
    ),
    Case(
        "a syntax error",
        [
            Step("x = = 2", error=Error("SyntaxError", Like("invalid syntax"), Like(r"\A  File <cell 1>, line 1\n    x = = 2\n"))),
            Step("print(1", error=Error("SyntaxError", Like("was never closed|EOF|incomplete input"), Like("File <cell 2>, line 1"))),
            Step("1", value="1"),
        ],
    ),
    Case("a wrong indent", [Step("if True:\nprint(1)", error=Error("IndentationError", Like("expected an indented block"), Like("File <cell 1>, line 2")))]),
    Case("return outside of a function", [Step("return 5", error=Error("SyntaxError", Like("'return' outside function")))]),
    Case(
        "causes are told",
        [
            Step(
                "try:\n    {}['key']\nexcept KeyError as e:\n    raise ValueError('no key') from e",
                error=Error(
                    "ValueError",
                    "no key",
                    Like("^KeyError: 'key'$", "direct cause of the following", "line 2, in <module>", "line 4, in <module>", "^ValueError: no key$"),
                ),
            )
        ],
    ),
    Case(
        "an error of the user's own class",
        [
            Step("class Broken(Exception):\n    def __str__(self):\n        raise TypeError('no')"),
            Step("raise Broken()", error=Error("Broken", Like("failed"), Like("Broken: <(exception str|unprintable)"))),
        ],
    ),
    Case(
        "groups of errors",
        [
            Step(
                "raise ExceptionGroup('many', [ValueError('a'), KeyError('b')])",
                error=Error("ExceptionGroup", Like("many"), Like("ValueError: a", "KeyError: 'b'", "File <cell 1>, line 1")),
            )
        ],
    ),
    Case("endless recursion", [Step("def f(): f()\nf()", error=Error("RecursionError", Like("maximum recursion"), Like("Previous line repeated")))]),
    Case("a name that does not exist", [Step("missing", error=Error("NameError", "name 'missing' is not defined"))]),
    Case(
        "an error in a module",
        [
            Step("with open('broken.py', 'w') as file:\n    file.write('def f():\\n    raise OSError(5, \"oh\")\\n')"),
            Step("import broken\nbroken.f()", error=Error("OSError", "[Errno 5] oh", Like("File <cell 2>, line 2", r'File ".*/broken\.py", line 2, in f'))),
        ],
    ),
    Case("a module that is missing", [Step("import no_such_module", error=Error("ModuleNotFoundError", "No module named 'no_such_module'"))]),
    Case(
        "an error in exec'd code",
        [Step("exec('1/0')", error=Error("ZeroDivisionError", "division by zero", Like("File <cell 1>, line 1", 'File "<string>", line 1')))],
    ),
    Case(
        "an error in a thread",
        [
            Step(
                "import threading\ndef work():\n    raise ValueError('in a thread')\nt = threading.Thread(target=work)\nt.start()\nt.join()",
                stderr=Like("Exception in thread", "cell 1>.*line 3", "ValueError: in a thread"),
            )
        ],
    ),
    Case("sys.exit", [Step("import sys\nx = 1\nsys.exit(3)", error=Error("SystemExit", "3", Like("File <cell 1>, line 3"))), Step("x", value="1")]),
    Case("exit and quit", [Step("exit()", error=Error("SystemExit")), Step("quit(2)", error=Error("SystemExit", "2")), Step("1", value="1")]),
    Case("raise SystemExit", [Step("raise SystemExit('bye')", error=Error("SystemExit", "bye")), Step("1", value="1")]),
    Case("input has nobody to ask", [Step("name = input('name? ')", error=Error("StdinNotImplementedError", Like("input\\(\\)"))), Step("1", value="1")]),
    Case("stdin is empty", [Step("import sys\nsys.stdin.read()", value="''"), Step("import os\nos.system('cat')", value="0")]),
    Case("every descriptor closed", [Step("import os\nos.closerange(0, 2000)", ends=True)]),
    Case("the process ends", [Step("print('last')\nimport os\nos._exit(3)", stdout="last\n", ends=True)]),
    Case("much is printed before the process ends", [Step("import os\nfor i in range(20_000): print('0123456789')\nos._exit(0)", stdout=Sized(220_000, "0123456789\n"), ends=True)]),
    Case(
        "the process crashes",
        [
            Step(
                "import ctypes, faulthandler\nfaulthandler.enable()\nfor i in range(3): print('line', i)\nctypes.string_at(0)",
                stdout="line 0\nline 1\nline 2\n",
                stderr=Like("Fatal Python error: Segmentation fault", "<cell 1>.*line 4"),
                ends=True,
            )
        ],
    ),
    Case("a result before the process ends", [Step("import os\nprint('a')\ndisplay(1)\nprint('b')\nos.kill(os.getpid(), 9)", stdout="a\nb\n", ends=True, order=["a\n", "<display>", "b\n"])]),
    Case("the process is the parent of none", [Step("import os\nos.wait()", error=Error("ChildProcessError", Like("No child")))]),
    Case(
        "errors that do not let themselves be described",
        [
            Step("class Leaves(Exception):\n    def __str__(self): raise SystemExit(3)\nraise Leaves()", error=Error("Leaves", Like("failed"))),
            Step("class Interrupts(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise Interrupts()", error=Error("Interrupts", Like("failed"))),
            Step("class Kind(type):\n    @property\n    def __name__(self): raise ValueError\n    __module__ = __name__\nclass E(Exception, metaclass=Kind): pass\nraise E('x')", error=Error("E", Like("no text|x"), Like("<cell 3>"))),
            Step("class Odd(Exception):\n    __cause__ = property(lambda self: 1 / 0)\nraise Odd()", error=Error("Odd", Like(""))),
            Step("class Once(Exception):\n    def __str__(self):\n        print('asked')\n        return 'text'\nraise Once()", stdout="asked\n", error=Error("Once", "text")),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case("the process is killed", [Step("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", ends=True)]),
]

INTERRUPTED = Like(r"File <cell \d+>, line [12]", r"^KeyboardInterrupt$")


def interrupted(code, **expected):
    # One statement: between two of them IPython is interrupted, and not the cell.
    return Step("if not print('go'):\n" + textwrap.indent(code, "    "), stdout=Like(r"\Ago\n"), interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt", "", INTERRUPTED), **expected)


INTERRUPTS = [
    Case("asleep", [Step("import time\nx = 1"), interrupted("time.sleep(100)"), Step("x", value="1")]),
    Case("in a loop", [interrupted("while True: pass"), Step("2", value="2")]),
    Case("printing all the time", [interrupted("while True: print('x' * 1000)"), Step("print('y')", stdout="y\n")]),
    Case("showing all the time", [Step("print('go')\nwhile True: display('x' * 100_000)", stdout="go\n", displays=None, interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")), Step("3", value="3")]),
    Case("waiting for a child", [Step("import subprocess"), interrupted("subprocess.run(['sleep', '100'])"), Step("4", value="4")]),
    Case("waiting for a shell", [Step("import os"), interrupted("os.system('sleep 100')"), Step("5", value="5")]),
    Case("waiting for a lock", [Step("import threading\nlock = threading.Lock()\nlock.acquire();"), interrupted("lock.acquire()"), Step("6", value="6")]),
    Case("awaiting", [Step("import asyncio"), interrupted("await asyncio.sleep(100)"), Step("await asyncio.sleep(0, 7)", value="7")]),
    Case("in a loop between awaits", [Step("import asyncio"), interrupted("while True: await asyncio.sleep(0.001)"), Step("8", value="8")]),
    Case("in a loop without awaits, in a coroutine", [Step("import asyncio\nawait asyncio.sleep(0)"), interrupted("while True: asyncio\nawait asyncio.sleep(0)"), Step("9", value="9")]),
    Case(
        "caught by the user",
        [
            Step(
                "import time\ntry:\n    print('go')\n    time.sleep(100)\nexcept KeyboardInterrupt:\n    print('caught')",
                stdout="go\ncaught\n",
                interrupt_after="go\n",
            )
        ],
    ),
    Case(
        "finally is run",
        [
            Step("import time"),
            Step(
                "try:\n    print('go')\n    time.sleep(100)\nfinally:\n    print('cleaned')",
                stdout="go\ncleaned\n",
                interrupt_after="go\n",
                status="interrupted",
                error=Error("KeyboardInterrupt", "", Like("File <cell 2>, line [23]")),
            ),
        ],
    ),
    Case("in asyncio.run", [Step("import asyncio"), interrupted("asyncio.run(asyncio.sleep(100))"), Step("10", value="10")]),
    Case("with a handler of the user's", [Step("import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN);"), interrupted("time.sleep(100)")]),
    Case(
        "while an error is described",
        [
            Step("import time\nclass Slow(Exception):\n    def __str__(self):\n        print('go')\n        time.sleep(100)"),
            Step("raise Slow()", stdout="go\n", interrupt_after="go\n", status="error", error=Error("Slow", Like("failed|no text"), Like("<cell 2>.*line 1"))),
            Step("'alive'", value="'alive'"),
        ],
    ),
    Case("while a value is described", [Step("import time\nclass Slow:\n    def __repr__(self):\n        print('go')\n        time.sleep(100)"), Step("Slow()", stdout="go\n", stderr=Like(""), interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")), Step("'alive'", value="'alive'")]),
    Case("while sys.stdout is flushed", [Step("import sys, time, os\nclass Slow:\n    def write(self, text): pass\n    def flush(self):\n        os.write(1, b'go\\n')\n        time.sleep(100)\nsys.stdout = Slow()", stdout="go\n", interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt")), Step("'alive'", value="'alive'")]),
    Case("raised by the user", [Step("raise KeyboardInterrupt", error=Error("KeyboardInterrupt"))]),
]

ASYNC = [
    Case("top-level await", [Step("import asyncio\nawait asyncio.sleep(0, 'done')", value="'done'")]),
    Case(
        "coroutines of other cells",
        [
            Step("import asyncio\nasync def work(x):\n    await asyncio.sleep(0.01)\n    return x * 2"),
            Step("r = await work(4)\nr", value="8"),
            Step("await asyncio.gather(*(work(i) for i in range(3)))", value="[0, 2, 4]", formats={"json": [0, 2, 4]}),
        ],
    ),
    Case(
        "async for and async with",
        [
            Step(
                "import contextlib\n@contextlib.asynccontextmanager\nasync def opened():\n    print('in')\n    yield 5\n    print('out')\n"
                "async def numbers():\n    for i in range(2): yield i"
            ),
            Step("async with opened() as x:\n    async for i in numbers(): print(i)\nx", stdout="in\n0\n1\nout\n", value="5"),
            Step("[i async for i in numbers()]", value="[0, 1]"),
        ],
    ),
    Case("asyncio.run", [Step("import asyncio\nasync def f(): return 3\nasyncio.run(f())", value="3"), Step("await f()", value="3"), Step("asyncio.run(f())", value="3")]),
    Case(
        "a task of one cell is awaited in another",
        [
            Step("import asyncio\nasync def f():\n    await asyncio.sleep(0.05)\n    return 'result'\ntask = asyncio.create_task(f())"),
            Step("await task", value="'result'"),
        ],
    ),
    Case(
        "a task goes on between executions",
        [
            Step("import asyncio\nasync def f():\n    await asyncio.sleep(0.3)\n    print('late')\ntask = asyncio.create_task(f())", late_stdout="late\n"),
            Step("task.done()", value="True"),
        ],
    ),
    Case(
        "an error in a coroutine",
        [
            Step("async def f():\n    raise ValueError('in f')"),
            Step(
                "await f()",
                error=Error("ValueError", "in f", Like(r"\ATraceback.*\n  File <cell 2>, line 1, in <module>\n    await f\(\)\n(.*\n)*?  File <cell 1>, line 2, in f\n", lacks="asyncio")),
            ),
        ],
    ),
    Case(
        "a loop that is stopped",
        [
            Step("import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop().stop()"),
            Step("1", value="1"),
            Step("loop = asyncio.get_event_loop()\nhandle = loop.call_later(0.05, loop.stop)"),
            Step("import time\ntime.sleep(0.1)"),
            Step("await asyncio.sleep(0.01, 2)", value="2"),
            Step("asyncio.get_running_loop().stop()\nawait asyncio.sleep(0.05)", error=Error("RuntimeError", Like("stopped"))),
            Step("await asyncio.sleep(0, 3)", value="3"),
        ],
    ),
    Case("a queue between tasks", [Step("import asyncio\nq = asyncio.Queue()\nasync def put(): await q.put('x')\nt = asyncio.ensure_future(put())\nawait q.get()", value="'x'")]),
    Case("a child process of asyncio", [Step("import asyncio\np = await asyncio.create_subprocess_exec('echo', 'child')\nawait p.wait()", stdout="child\n", value="0")]),
]

PROCESSES = [
    Case(
        "a pool of forks",
        [
            Step("import multiprocessing\ncontext = multiprocessing.get_context('fork')\ndef square(x):\n    return x * x"),
            Step("with context.Pool(2) as pool:\n    print(pool.map(square, range(5)))", stdout="[0, 1, 4, 9, 16]\n"),
        ],
    ),
    Case(
        "output of a fork",
        [
            Step(
                "import multiprocessing\ndef work():\n    print('in the fork')\n"
                "p = multiprocessing.get_context('fork').Process(target=work)\np.start()\np.join()\np.exitcode",
                stdout="in the fork\n",
                value="0",
            )
        ],
    ),
    Case(
        "processes by spawn",
        [
            Step("with open('work.py', 'w') as file:\n    file.write('def work(x):\\n    print(\"spawned\", flush=True)\\n    return x + 1\\n')"),
            Step(
                "import multiprocessing, work\nwith multiprocessing.get_context('spawn').Pool(1) as pool:\n    r = pool.map(work.work, [1])\nr",
                stdout="spawned\n",
                value="[2]",
            ),
        ],
    ),
    Case(
        "a function of a cell is not known to a spawned process",
        [
            Step("import multiprocessing\ndef work(): pass\np = multiprocessing.get_context('spawn').Process(target=work)\np.start()\np.join()\np.exitcode", stderr=Like("AttributeError.*work"), value="1"),
        ],
    ),
    Case(
        "executors",
        [
            Step("from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor\nimport multiprocessing\ndef square(x): return x * x"),
            Step("with ThreadPoolExecutor(2) as e:\n    r = list(e.map(square, range(3)))\nr", value="[0, 1, 4]"),
            Step("with ProcessPoolExecutor(2, multiprocessing.get_context('fork')) as e:\n    r = list(e.map(square, range(3)))\nr", value="[0, 1, 4]"),
        ],
    ),
    Case(
        "a fork that comes to the end of its cell",
        [
            Step("import os\npid = os.fork()\nif pid == 0:\n    print('child')\nelse:\n    status = os.waitpid(pid, 0)[1]\n    print('parent', status)", stdout="child\nparent 0\n"),
            Step("'one kernel'", value="'one kernel'"),
        ],
    ),
    Case(
        "a fork that fails, exits and shows",
        [
            Step("import os\ndef status(pid): return os.WEXITSTATUS(os.waitpid(pid, 0)[1])"),
            Step("pid = os.fork()\nif pid == 0: raise ValueError('in the child')\nstatus(pid)", stderr=Like("File <cell 2>, line 2", "ValueError: in the child"), value="1"),
            Step("pid = os.fork()\nif pid == 0: raise SystemExit(7)\nstatus(pid)", value="7"),
            Step("pid = os.fork()\nif pid == 0: display('shown')\nelse: print(status(pid))", stdout="'shown'\n0\n"),
        ],
    ),
    Case("a child has only its three descriptors", [Step("import subprocess\nr = subprocess.run(['ls', '/proc/self/fd'], close_fds=False)", stdout="0\n1\n2\n3\n")]),
    Case(
        "a fork does not hold the channel",
        [
            Step(
                "import os\ndef pipes():\n    names = ['/proc/self/fd/' + n for n in os.listdir('/proc/self/fd')]\n"
                "    return len({os.readlink(n) for n in names if os.path.lexists(n) and os.readlink(n).startswith('pipe:')})\n"
                "print(pipes())\n"
                "pid = os.fork()\nif pid == 0: print(pipes())\nelse: status = os.waitpid(pid, 0)",
                stdout="5\n2\n",
            )
        ],
    ),
]

RICH = [
    Case("a dictionary as JSON", [Step("{'a': [1, 2.5, None], 'b': 'ü'}", value="{'a': [1, 2.5, None], 'b': 'ü'}", formats={"json": {"a": [1, 2.5, None], "b": "ü"}})]),
    Case("a list as JSON", [Step("[1, 'two', [3]]", value="[1, 'two', [3]]", formats={"json": [1, "two", [3]]})]),
    Case("what is no JSON", [Step("[float('nan')]", value="[nan]", no_formats=("json",)), Step("{'f': print}", value=Like("'f'"), no_formats=("json",)), Step("(1, 2)", value="(1, 2)", no_formats=("json",))]),
    Case("a cyclic list", [Step("x = []\nx.append(x)\nx", value="[[...]]", no_formats=("json",))]),
    Case(
        "a table",
        [
            Step("import pandas\nt = pandas.DataFrame({'a': [1, 2], 'b': ['x', 'y']})"),
            Step("t", value="   a  b\n0  1  x\n1  2  y", formats={"html": Like("<table", "<td>y</td>")}),
            Step("t['a']", value=Like(r"dtype: int64"), no_formats=("html",)),
            Step("t.groupby('b').sum()", value=Like("a"), formats={"html": Like("<table")}),
        ],
    ),
    Case("an array", [Step("import numpy\nnumpy.arange(4).reshape(2, 2)", value="array([[0, 1],\n       [2, 3]])")]),
    Case("an image", [Step("from PIL import Image\nImage.new('RGB', (3, 2), (255, 0, 0))", value=Like("PIL.Image.Image"), formats={"png": Picture("from PIL import Image\nimage = Image.new('RGB', (3, 2), (255, 0, 0))")})]),
    Case(
        "every format",
        [
            Step(
                "class Rich:\n"
                "    def __repr__(self): return 'rich'\n"
                "    def _repr_html_(self): return '<b>html</b>'\n"
                "    def _repr_markdown_(self): return '*markdown*'\n"
                "    def _repr_latex_(self): return '$x^2$'\n"
                "    def _repr_svg_(self): return '<svg/>'\n"
                "    def _repr_json_(self): return {'j': 1}\n"
                "    def _repr_javascript_(self): return 'alert(1)'\n"
                "    def _repr_png_(self): return b'\\x89PNG'\n"
                "    def _repr_jpeg_(self): return b'jpeg'\n"
                "    def _repr_pdf_(self): return b'%PDF'\n"
                "Rich()",
                value="rich",
                formats={
                    "html": "<b>html</b>",
                    "markdown": "*markdown*",
                    "latex": "$x^2$",
                    "svg": "<svg/>",
                    "json": {"j": 1},
                    "javascript": "alert(1)",
                    "png": "iVBORw==",
                    "jpeg": "anBlZw==",
                    "pdf": "JVBERg==",
                },
            )
        ],
    ),
    Case(
        "a MIME bundle",
        [
            Step(
                "class Bundle:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                "        return {'text/plain': 'plain', 'text/html': '<i>', 'application/vnd.chart+json': {'x': 1}}\nBundle()",
                value="plain",
                formats={"html": "<i>", "extra": {"application/vnd.chart+json": {"x": 1}}},
            )
        ],
    ),
    Case(
        "an object that displays itself",
        [Step("class Own:\n    def _ipython_display_(self):\n        print('own way')\nOwn()", stdout="own way\n")],
    ),
    Case(
        "display",
        [
            Step(
                "print('a')\ndisplay(1, 'two')\nprint('b')\ndisplay([3])",
                stdout="a\nb\n",
                displays=[{"text": "1"}, {"text": "'two'"}, {"text": "[3]"}],
                order=["a\n", "<display>", "<display>", "b\n", "<display>"],
            ),
            Step("display({'text/html': '<p>'}, raw=True)", displays=[{"html": "<p>"}]),
        ],
    ),
    Case(
        "a display is updated",
        [
            Step(
                "display('first', display_id='a')\nhandle = display({'text/html': '<i>'}, raw=True, display_id=True)\ndisplay('last')\n"
                "update_display('second', display_id='a')\nhandle.update(5)\nprint('x')\nhandle.update(6)",
                stdout="x\n",
                displays=[{"text": "'second'"}, {"text": "6"}, {"text": "'last'"}],
                order=["<display>"] * 3 + ["<update>"] * 2 + ["x\n", "<update>"],
            ),
            Step("handle.update(7)\nhandle.update(8)", displays=[{"text": "8"}]),
            Step("for i in range(2): display(i, display_id='both')\nupdate_display('all', display_id='both')", displays=[{"text": "'all'"}] * 2),
            Step("handle.display(1)\nclear_output()\nhandle.update(2)", displays=[{"text": "2"}]),
            Step("display(1, display_id='a')", value=Like("^<.*DisplayHandle.*a>$"), displays=[{"text": "1"}]),
            Step("display(1, update=True)", error=Error("TypeError", "display_id required for update_display")),
        ],
    ),
    Case(
        "displays are cleared",
        [
            Step("display(1)\nprint('a')\nclear_output()\nprint('b')\ndisplay(2)", stdout="a\nb\n", displays=[{"text": "2"}], order=["<display>", "a\n", "<clear>", "b\n", "<display>"]),
            Step("display(1)\nclear_output()"),
            Step("for i in range(3):\n    clear_output(wait=True)\n    display(i)", displays=[{"text": "2"}], order=["<clear>", "<display>"] * 3),
            Step("display(1)\nclear_output(wait=True)", displays=[{"text": "1"}]),
            Step("display(2)", displays=[{"text": "2"}], order=["<display>"]),
            Step("display(1)\nclear_output(wait=True)\n3", value="3"),
            Step(f"{IMPORT_PYPLOT}\nfor n in (5, 9):\n    lines = plt.plot([1, 4, n])\n    clear_output(wait=True)\n    plt.show()", displays=[{"png": Picture(DRAW_LINE)}]),
            Step("import os\npid = os.fork()\nif pid == 0: clear_output()\nelse: display(os.waitpid(pid, 0)[1])", displays=[{"text": "0"}]),
        ],
    ),
    Case("display of a table in a loop", [Step("import pandas\nfor i in range(2):\n    display(pandas.DataFrame({'i': [i]}))", displays=[{"html": Like("<td>0</td>")}, {"html": Like("<td>1</td>")}])]),
    Case(
        "a representation that fails",
        [Step("class Bad:\n    def __repr__(self): return 'bad'\n    def _repr_html_(self): raise ValueError('html')\nBad()", value="bad", no_formats=("html",), stderr=Like("ValueError: html"))],
    ),
    Case("an object with any attribute", [Step("class Any:\n    def __getattr__(self, name): return lambda *a, **k: 5\n    def __repr__(self): return 'any'\nAny()", value="any", no_formats=("html", "png"))]),
    Case("a class as a value", [Step("class C:\n    def _repr_html_(self): return 'x'\nC", value=Like(r"\.C"), no_formats=("html",))]),
    Case("display from a thread", [Step("import threading\nt = threading.Thread(target=lambda: display('x'))\nt.start()\nt.join()", displays=[{"text": "'x'"}])]),
]

PLOTS = [
    Case("an open figure is given", [Step(f"{IMPORT_PYPLOT}\nlines = {DRAW_LINE}", displays=[{"png": Picture(DRAW_LINE), "text": Like("^<Figure size")}]), Step("plt.get_fignums()", value="[]")]),
    Case(
        "show gives it at once",
        [
            Step(
                f"{IMPORT_PYPLOT}\nlines = {DRAW_LINE}\nprint('before')\nplt.show()\nprint('after')",
                stdout="before\nafter\n",
                displays=[{"png": Picture(DRAW_LINE)}],
                order=["before\n", "<display>", "after\n"],
            )
        ],
    ),
    Case("the value of plot", [Step(f"{IMPORT_PYPLOT}\n{DRAW_LINE}", value=Like("Line2D"), displays=[{"png": Picture(DRAW_LINE)}], order=["<value>", "<display>"])]),
    Case(
        "two figures",
        [
            Step(
                f"{IMPORT_PYPLOT}\nfor c in 'rb':\n    plt.figure(figsize=(3, 2))\n    plt.plot([1, 2], color=c)",
                displays=[{"png": Picture(f"plt.figure(figsize=(3, 2))\nplt.plot([1, 2], color='{c}')")} for c in "rb"],
            )
        ],
    ),
    Case("a figure as value is given once", [Step(f"{IMPORT_PYPLOT}\nfigure, axes = plt.subplots()\naxes.bar(['a', 'b'], [1, 2])\nfigure", value=Like("^<Figure"), formats={"png": Picture("figure, axes = plt.subplots()\naxes.bar(['a', 'b'], [1, 2])")})]),
    Case("a figure that was closed is not given", [Step(f"{IMPORT_PYPLOT}\nlines = {DRAW_LINE}\nplt.savefig('out.png')\nplt.close()"), Step("import os\nos.path.getsize('out.png') > 1000", value="True")]),
    Case(
        "matplotlib was imported in an earlier cell",
        [
            Step(IMPORT_PYPLOT),
            Step(f"lines = {DRAW_LINE}", displays=[{"png": Picture(DRAW_LINE)}]),
            Step("print(plt.get_fignums())", stdout="[]\n"),
            Step(f"lines = {DRAW_LINE}\nplt.show()\nplt.show()", displays=[{"png": Picture(DRAW_LINE)}]),
        ],
    ),
    Case(
        "pyplot loaded anew and by other names",
        [
            Step(f"{IMPORT_PYPLOT}\nimport importlib\nplt = importlib.reload(plt)\nlines = {DRAW_LINE}\nplt.show()", displays=[{"png": Picture(DRAW_LINE)}]),
            Step("from pylab import *\nlines = plot([1, 4, 9])\nshow()", displays=[{"png": Picture(DRAW_LINE)}]),
            Step("import matplotlib\nmatplotlib.use('svg')\nplt.switch_backend('agg')\nlines = plt.plot([1, 4, 9])\nplt.show()", displays=[{"png": Picture(DRAW_LINE)}]),
        ],
    ),
    Case("a figure of an interrupted cell is given once", [Step(f"{IMPORT_PYPLOT}\nimport time\nlines = {DRAW_LINE}\nprint('go')\ntime.sleep(100)", stdout="go\n", interrupt_after="go\n", status="interrupted", error=Error("KeyboardInterrupt"), displays=[{"png": Picture(DRAW_LINE)}]), Step("1", value="1")]),
    Case("an empty figure is not given", [Step(f"{IMPORT_PYPLOT}\nf = plt.figure()")]),
    Case("the Agg backend by hand", [Step(f"import matplotlib\nmatplotlib.use('Agg')\n{IMPORT_PYPLOT}\nlines = {DRAW_LINE}\nplt.show()", displays=[{"png": Picture(DRAW_LINE)}])]),
    Case("a figure shown by itself", [Step(f"{IMPORT_PYPLOT}\nfigure, axes = plt.subplots()\nbars = axes.barh([1, 2], [3, 4])\nfigure.show()\nprint('after')", stdout="after\n", displays=[{"png": Picture("figure, axes = plt.subplots()\naxes.barh([1, 2], [3, 4])")}], order=["<display>", "after\n"])]),
    Case(
        "a figure before an error",
        [Step(f"{IMPORT_PYPLOT}\nlines = {DRAW_LINE}\n1 / 0", displays=[{"png": Picture(DRAW_LINE)}], error=Error("ZeroDivisionError", "division by zero"))],
    ),
    Case(
        "one of three figures fails",
        [
            Step(
                f"{IMPORT_PYPLOT}\nfor title in ('a', '$\\\\nonsense$', 'c'):\n    f = plt.figure()\n    t = plt.title(title)",
                displays=[{"png": Picture("plt.title('a')")}, {"png": Picture("plt.title('c')")}],
                error=Error("ValueError", Like("nonsense")),
            ),
            Step("plt.get_fignums()", value="[]"),
        ],
    ),
    Case(
        "figures without axes",
        [
            Step(f"{IMPORT_PYPLOT}\nfrom matplotlib.lines import Line2D\nfrom matplotlib.patches import Rectangle"),
            Step("l = plt.figure().legend(handles=[Line2D([], [])], labels=['x'])", displays=[{"png": Picture("from matplotlib.lines import Line2D\nplt.figure().legend(handles=[Line2D([], [])], labels=['x'])")}]),
            Step("a = plt.figure().add_artist(Rectangle((0.2, 0.2), 0.5, 0.5))", displays=[{"png": Picture("from matplotlib.patches import Rectangle\nplt.figure().add_artist(Rectangle((0.2, 0.2), 0.5, 0.5))")}]),
            Step("t = plt.figure().subfigures(1, 2)[1].suptitle('x')", displays=[{"png": Picture("plt.figure().subfigures(1, 2)[1].suptitle('x')")}]),
            Step("f = plt.figure().subfigures(1, 2)"),
        ],
    ),
    Case("an error while drawing", [Step(f"{IMPORT_PYPLOT}\nt = plt.title('$\\\\nonsense$')", error=Error("ValueError", Like("nonsense"))), Step("1", value="1")]),
    Case("a plot of a table", [Step("import pandas\naxes = pandas.DataFrame({'a': [1, 3, 2]}).plot()", displays=[{"png": Picture("import pandas\nfigure = pandas.DataFrame({'a': [1, 3, 2]}).plot().figure")}])]),
    Case("display of a figure without pyplot", [Step("from matplotlib.figure import Figure\nf = Figure()\nlines = f.subplots().plot([1, 4, 9])\ndisplay(f)", displays=[{"png": Picture("from matplotlib.figure import Figure\nfigure = Figure()\nfigure.subplots().plot([1, 4, 9])")}])]),
    Case("an image of an array", [Step(f"{IMPORT_PYPLOT}\nimport numpy\ni = plt.imshow(numpy.arange(12).reshape(3, 4), cmap='gray')", displays=[{"png": Picture("import numpy\nplt.imshow(numpy.arange(12).reshape(3, 4), cmap='gray')")}])]),
]

IPYTHON = [
    Case("the magic of time", [Step("%time x = 5", stdout=Like("Wall time")), Step("x", value="5")], "ipython"),
    Case("a shell command", [Step("!echo hello", stdout="hello\n"), Step("files = !echo a b\nfiles", value="['a b']"), Step("name = 'x'\n!echo {name} $name; exit 3", stdout="x x\n"), Step("_exit_code", value="3")], "ipython"),
    Case("help", [Step("def f(x):\n    'Says what it does.'"), Step("f?", stdout=Like("Signature: *f", "Says what it does."))], "ipython"),
    Case("a cell in bash", [Step("%%bash\necho one\necho two", stdout="one\ntwo\n")], "ipython"),
    Case("figures captured", [Step(f"%%capture out\n{IMPORT_PYPLOT}\nlines = {DRAW_LINE}\nplt.show()\nlines = {DRAW_LINE}"), Step("len(out.outputs), plt.get_fignums()", value="(2, [])"), Step("out.outputs[1]", value=Like("<Figure|RichOutput"), formats={"png": Picture(DRAW_LINE)})], "ipython"),
    Case("a figure in other formats", [Step(f"from matplotlib_inline.backend_inline import set_matplotlib_formats\nset_matplotlib_formats('svg')\n{IMPORT_PYPLOT}\nf = plt.figure()\nlines = {DRAW_LINE}\nf", value=Like("<Figure"), formats={"svg": Like("<svg"), "png": Picture(DRAW_LINE)})], "ipython"),
    Case("help on what is replaced", [Step("print?", stdout=Like("Prints the values to a stream", lacks="kernel|one write")), Step("help(print)", stdout=Like("Prints the values to a stream"))], "ipython"),
    Case("JSON that is too deep or too large", [Step("from IPython.display import JSON\nx = []\nfor i in range(110): x = [x]\ndisplay(JSON(x))\nJSON({'n': 10 ** 400})", displays=[{"text": Like("JSON")}], value=Like("JSON"), no_formats=("json",))], "ipython"),
    Case("output captured", [Step("%%capture out\nprint('x')\n5"), Step("out.stdout", value="'x\\n'")], "ipython"),
    Case("matplotlib inline", [Step(f"%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\n{IMPORT_PYPLOT}\nlines = {DRAW_LINE}", displays=[{"png": Picture(DRAW_LINE)}])], "ipython"),
    Case(
        "objects of IPython.display",
        [
            Step("from IPython.display import HTML, Markdown, Math, JSON, display"),
            Step("display(HTML('<b>x</b>'), Markdown('*x*'))", displays=[{"html": "<b>x</b>"}, {"markdown": "*x*"}]),
            Step("Math('x^2')", value=Like("Math"), formats={"latex": Like(r"x\^2")}),
            Step("JSON({'a': 1})", value=Like("JSON"), formats={"json": {"a": 1}}),
            Step("from IPython.display import clear_output, update_display, DisplayHandle"),
            Step("display(1)\nclear_output()\nhandle = DisplayHandle()\nhandle.display('a')\nhandle.update(HTML('<b>'))", displays=[{"html": "<b>"}]),
            Step("%%capture out\nhandle.update(5)\nclear_output()\ndisplay(6)"),
        ],
        "ipython",
    ),
    Case("a script is run", [Step("with open('s.py', 'w') as file:\n    file.write('y = 3\\nprint(__name__)\\n')"), Step("%run s.py", stdout="__main__\n"), Step("y", value="3")], "ipython"),
    Case("a magic that does not exist", [Step("%no_such_magic", error=Error("UsageError", Like("no_such_magic"))), Step("1", value="1")], "ipython"),
    Case("In and Out", [Step("7", value="7"), Step("Out[1], In[1]", value="(7, '7')")], "ipython"),
    Case("no files are left in the home", [Step("import os\nsorted(os.listdir(os.environ['HOME']))", value="[]")], "ipython"),
]

CASES = VALUES + OUTPUT + ERRORS + INTERRUPTS + ASYNC + PROCESSES + RICH + PLOTS + IPYTHON
