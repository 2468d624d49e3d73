"""A kernel as a child process, spoken to over its channel."""

import json
import os
import signal
import subprocess
import tempfile
import threading

PATIENCE = 300  # seconds until a kernel that does not answer is ended
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "context")


class Outcome:
    """What came between a request and its end."""

    def __init__(self):
        self.stdout = ""
        self.stderr = ""
        self.mains = []
        self.displays = []
        self.errors = []
        self.order = []
        self.status = ""
        self.count = 0
        self.ended = False

    def take(self, message):
        kind = message["type"]
        if kind == "stdout":
            self.stdout += message["text"]
            self._note_output(message["text"])
        elif kind == "stderr":
            self.stderr += message["text"]
        elif kind == "result":
            (self.mains if message["main"] else self.displays).append(message["formats"])
            self.order.append("<value>" if message["main"] else "<display>")
        elif kind == "error":
            self.errors.append(message)
            self.order.append("<error>")
        elif kind == "done":
            self.status = message["status"]
            self.count = message["count"]
        else:
            raise AssertionError(f"an unknown message: {message}")

    def _note_output(self, text):
        if self.order and not self.order[-1].startswith("<"):
            self.order[-1] += text
        else:
            self.order.append(text)


class Kernel:
    """Of one language and engine, with a folder of its own as its current one and its home."""

    def __init__(self, argv, environment):
        self.folder = tempfile.TemporaryDirectory(prefix="cove-context-")
        self.process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=self.folder.name,
            env={"PATH": os.environ["PATH"], "HOME": self.folder.name, "LANG": "C.UTF-8", **environment},
            start_new_session=True,
        )
        self.requests = 0
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.daemon = True
        self.ready = None

    def wait_ready(self):
        if not self.ready:
            self.watchdog.start()
            self.ready = self.read()
        if not self.ready or self.ready.get("type") != "ready":
            raise AssertionError(f"not ready: {self.ready}")
        return self.ready

    def read(self):
        """The next message; None at the end."""
        line = self.process.stdout.readline()
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
        """Ends it as the server would; what it does not end by itself is killed."""
        self.watchdog.cancel()
        try:
            self.process.stdin.close()
            return self.process.wait(10)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            return None
        finally:
            self._kill_session()
            self.process.stdout.close()
            self.folder.cleanup()

    def _kill_session(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def python_kernel(engine, interpreter="/usr/bin/python3"):
    environment = {"COVE_CONTEXT_ENGINE": engine, "MPLCONFIGDIR": font_cache()}
    return Kernel([interpreter, os.path.join(SOURCES, "python_kernel.py")], environment)


def javascript_kernel(program="node"):
    return Kernel([program, os.path.join(SOURCES, "javascript_kernel.mjs")], {})


def font_cache():
    """One for all: matplotlib takes long to make it."""
    folder = os.path.join(tempfile.gettempdir(), f"cove-contexts-matplotlib-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder
