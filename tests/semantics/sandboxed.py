"""Programs in fresh sandboxes of a server of its own."""

import base64
import contextlib
import pathlib
import re
import sys
import threading
import urllib.parse

from outcome import Outcome, masked

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "crash"))
from server import Server, read  # noqa: E402

RETAINED = 16 << 20  # bytes of each stream in a result
TIMEOUT = "200s"


class NotStarted(Exception):
    """The server."""


class Sandboxed:
    def __init__(self, programs, settings):
        self.server = Server(programs, settings)
        self.clients = threading.local()

    def start(self):
        try:
            started = self.server.start()
        except AssertionError as error:
            raise NotStarted(str(error)) from error
        if not started:
            raise NotStarted(read(self.server.log).decode(errors="replace"))
        return self

    def close(self):
        try:
            self.server.stop()
        finally:
            self.server.remove()

    def client(self):
        """Of this thread and case: the server closes a connection that waits for long."""
        if not hasattr(self.clients, "client"):
            self.clients.client = self.server.client(300)
        return self.clients.client

    @contextlib.contextmanager
    def sandbox(self, order):
        """Its path. Nothing ran in it before."""
        client = self.client()
        path = "/v1/sandboxes/" + client.expect(201, "POST", "/v1/sandboxes", order).json()["id"]
        try:
            yield path
        finally:
            client.expect(204, "DELETE", path)
            client.close()

    def execute(self, sandbox, order):
        return self.client().expect(200, "POST", sandbox + "/execs?wait=true", order).json()

    def environment(self):
        """What a program is given without asking for anything."""
        with self.sandbox({}) as sandbox:
            lines = self.execute(sandbox, {"argv": ["env", "-0"]})["stdout"]["text"]
        return dict(line.split("=", 1) for line in lines.split("\0") if line)

    def run(self, case):
        with self.sandbox(case.sandbox) as sandbox:
            self.prepare(case, sandbox)
            for _ in range(case.turns):
                result = self.execute(sandbox, order_of(case))
        stdout, stderr = (masked(case, captured(result[stream]), [result["exec_id"]]) for stream in ("stdout", "stderr"))
        return Outcome(result["status"], result["exit_code"], result["signal"], stdout, stderr)

    def prepare(self, case, sandbox):
        for path, text in case.files.items():
            self.client().expect(201, "PUT", f"{sandbox}/files?path={urllib.parse.quote(path)}", text.encode())
        if case.before:
            result = self.execute(sandbox, {"shell": case.before})
            if result["exit_code"] != 0:
                raise AssertionError(f"before the program: {result['why']}: {result['stderr']}")


class Cold(Sandboxed):
    name = "cold"

    def __init__(self, programs, knows_pool):
        super().__init__(programs, ["pool.size=0"] if knows_pool else [])


class Warm(Sandboxed):
    name = "warm"

    def __init__(self, programs):
        super().__init__(programs, ["pool.size=4"])

    def found_waiting(self):
        """How many programs found their interpreter waiting."""
        text = self.client().expect(200, "GET", "/metrics").data.decode()
        return int(re.search(r"^cove_pool_interpreters_total (\d+)$", text, re.MULTILINE)[1])


def order_of(case):
    order = {"language": case.language, "code": case.code, "timeout": TIMEOUT, "limits": {"retained": RETAINED}}
    if case.stdin is not None:
        order["stdin"] = {"base64": base64.b64encode(case.stdin).decode()}
    if case.env:
        order["env"] = case.env
    return order | case.order


def captured(stream):
    if stream["truncated"]:
        raise AssertionError(f"only a part of the {stream['bytes']} bytes of a stream came back")
    return base64.b64decode(stream["base64"]) if "base64" in stream else stream["text"].encode()
