"""A kernel as a child process, spoken to over its channel."""

import atexit
import gc
import glob
import json
import multiprocessing.process
import os
import select
import shutil
import signal
import sys
import tempfile

from process import Process

PATIENCE = 60  # seconds of silence until a kernel counts as stuck
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "context")
JAVASCRIPT_KERNEL = os.path.realpath(os.path.join(SOURCES, "javascript_kernel.mjs"))


def join_python_kernel():
    """As the build does it: the parts in the order of their names. Gone with the process that has loaded this."""
    folder = tempfile.mkdtemp(prefix="cove-kernel-")
    os.chmod(folder, 0o755)
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(folder, ignore_errors=True))
    parts = []
    for path in sorted(glob.glob(os.path.join(SOURCES, "python_kernel", "*.py"))):
        with open(path) as file:
            parts.append(file.read())
    program = os.path.join(os.path.realpath(folder), "python_kernel.py")
    with open(program, "w") as file:
        file.write("\n\n".join(parts))
    return program


PYTHON_KERNEL = join_python_kernel()
IPYTHON = ("IPython", "ipykernel", "traitlets", "jedi", "parso", "prompt_toolkit", "matplotlib_inline")


class Outcome:
    """What came between a request and its end."""

    def __init__(self):
        self.texts = {"stdout": [], "stderr": []}
        self.mains = []
        self.displays = []
        self.display_ids = []  # of each of them; None where it has none
        self.errors = []
        self.marks = []  # pieces of stdout as lists, and marks of the others
        self.status = ""
        self.count = 0
        self.ended = False

    @property
    def stdout(self):
        return "".join(self.texts["stdout"])

    @property
    def stderr(self):
        return "".join(self.texts["stderr"])

    @property
    def order(self):
        return [mark if isinstance(mark, str) else "".join(mark) for mark in self.marks]

    def take(self, message):
        kind = message["type"]
        if kind in self.texts:
            self.texts[kind].append(message["text"])
            if kind == "stdout":
                self._note_output(message["text"])
        elif kind == "result":
            self._take_result(message)
        elif kind == "clear":
            self.displays, self.display_ids = [], []
            self.marks.append("<clear>")
        elif kind == "error":
            self.errors.append(message)
            self.marks.append("<error>")
        elif kind == "done":
            self.status = message["status"]
            self.count = message["count"]
        else:
            raise AssertionError(f"an unknown message: {message}")

    def _take_result(self, message):
        id = message.get("display_id")
        if message["main"]:
            self.mains.append(message["formats"])
        elif message.get("update") and id in self.display_ids:
            self.displays = [message["formats"] if other == id else each for other, each in zip(self.display_ids, self.displays)]
        else:
            self.displays.append(message["formats"])
            self.display_ids.append(id)
        self.marks.append("<value>" if message["main"] else "<update>" if message.get("update") else "<display>")

    def _note_output(self, text):
        if self.marks and isinstance(self.marks[-1], list):
            self.marks[-1].append(text)
        else:
            self.marks.append([text])


class Lines:
    """Of a pipe; gives up when nothing comes for long."""

    def __init__(self, file):
        self.file = file
        self.pieces = []
        self.lines = []

    def next(self):
        """b"" at the end."""
        while not self.lines:
            if not select.select([self.file], [], [], PATIENCE)[0]:
                raise AssertionError(f"nothing came for {PATIENCE} s")
            data = os.read(self.file.fileno(), 1 << 20)
            if not data:
                return b""
            first, *more = data.split(b"\n")
            self.pieces.append(first)
            if more:
                self.lines = [b"".join(self.pieces), *more[:-1]]
                self.lines.reverse()
                self.pieces = [more[-1]]
        return self.lines.pop()


class Kernel:
    """Of one language and engine, with a folder of its own as its current one and its home."""

    def __init__(self, run, environment):
        """`run` is called in the child with its environment, and becomes the kernel."""
        self.folder = tempfile.mkdtemp(prefix="cove-context-")
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.folder, "LANG": "C.UTF-8", **environment}
        self.process = Process(lambda: run(environment), self.folder)
        self.lines = Lines(self.process.stdout)
        self.requests = 0
        self.ready = None

    def wait_ready(self):
        self.ready = self.ready or self.read()
        if not self.ready or self.ready.get("type") != "ready":
            raise AssertionError(f"not ready: {self.ready} {self.process.complaints()}")
        return self.ready

    def read(self):
        """The next message; None at the end."""
        line = self.lines.next()
        return json.loads(line) if line else None

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def request(self, code):
        self.requests += 1
        self.send(json.dumps({"id": f"r{self.requests}", "type": "execute", "code": code}).encode() + b"\n")

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def execute(self, code, interrupt_after=None):
        self.wait_ready()
        self.request(code)
        return self.outcome(interrupt_after)

    def outcome(self, interrupt_after=None):
        outcome = Outcome()
        while not outcome.status:
            message = self.read()
            if message is None:
                outcome.ended = True
                return outcome
            if message["id"] != f"r{self.requests}":
                raise AssertionError(f"not an answer to r{self.requests}: {message}")
            outcome.take(message)
            if interrupt_after is not None and interrupt_after in outcome.stdout:
                interrupt_after = None
                self.interrupt()
        return outcome

    def read_late(self, kind, text):
        """Output between two executions; complains of anything else."""
        got = ""
        while len(got) < len(text):
            message = self.read()
            if not message or message["type"] != kind or message["id"] != f"r{self.requests}":
                raise AssertionError(f"{message} in place of late output")
            got += message["text"]
        return got

    def close(self):
        self.process.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def complaints(self):
        return self.process.complaints()


# --- the kernels --------------------------------------------------------------------------------------------------


def spawned_python(engine):
    """The program as it is started in a sandbox."""
    environment = {"COVE_CONTEXT_ENGINE": engine, "MPLCONFIGDIR": font_cache()}
    return Kernel(lambda env: os.execve("/usr/bin/python3", ["python3", PYTHON_KERNEL], env), environment)


def stopped_python(engine, beside_the_kernel):
    """The same, waiting for SIGCONT before it begins; with a copy of the program in its folder, or not."""

    def run(env):
        program = shutil.copy(PYTHON_KERNEL, os.path.join(env["HOME"], "kernel")) if beside_the_kernel else PYTHON_KERNEL
        os.chdir("/" if beside_the_kernel else env["HOME"])
        os.kill(os.getpid(), signal.SIGSTOP)
        os.execve("/usr/bin/python3", ["python3", program], env)

    return Kernel(run, {"COVE_CONTEXT_ENGINE": engine})


def forked_python(engine):
    """The same in a fork of this process, which has loaded the slow libraries; without IPython: as if there were none."""
    return Kernel(lambda env: become_python_kernel(engine, env), {"MPLCONFIGDIR": font_cache()})


def become_python_kernel(engine, environment):
    os.environ.clear()
    os.environ.update(environment)
    atexit._clear()
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    multiprocessing.process.ORIGINAL_DIR = os.getcwd()  # as of when it was loaded
    sys.argv = [PYTHON_KERNEL]
    sys.path[0] = os.path.dirname(PYTHON_KERNEL)
    if engine == "builtin":
        hide_ipython()
    with open(PYTHON_KERNEL) as file:
        code = compile(file.read(), PYTHON_KERNEL, "exec")
    module = type(sys)("__main__")
    module.__file__ = PYTHON_KERNEL
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


class Hidden:
    """A finder that finds none of these modules."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in IPYTHON:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def hide_ipython():
    for name in list(sys.modules):
        if name.partition(".")[0] in IPYTHON:
            del sys.modules[name]
    sys.meta_path.insert(0, Hidden())


def javascript_kernel():
    return Kernel(lambda env: os.execvpe("node", ["node", JAVASCRIPT_KERNEL], env), {"PATH": os.environ["PATH"]})


def preload():
    """What takes long to load. Not pyplot, which the kernel looks at when it is loaded."""
    import asyncio
    import concurrent.futures
    import multiprocessing.pool

    import IPython.core.interactiveshell
    import matplotlib.style
    import matplotlib.widgets
    import pandas
    import PIL.Image
    import PIL.PngImagePlugin

    draw_once()
    gc.collect()
    gc.freeze()


def draw_once():
    """The first figure takes long: fonts are found, parsers made."""
    import io

    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([1, 4, 9])
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")


def font_cache():
    """One for all: matplotlib takes long to make it."""
    folder = os.path.join(tempfile.gettempdir(), f"cove-contexts-matplotlib-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder
