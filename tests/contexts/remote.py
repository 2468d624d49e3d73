"""Contexts of a real server, over its API: the same steps as with a kernel."""

import http.client
import json
import os
import pathlib
import shutil
import sys
import urllib.parse

sys.path.insert(1, str(pathlib.Path(__file__).parent.parent / "crash"))
from server import Server, UnixConnection, copy_programs, read  # noqa: E402

from kernel import Outcome  # noqa: E402

PATIENCE = 120
EVENTS = {"Accept": "text/event-stream", "Content-Type": "application/json"}
STATUSES = {"success": "ok", "error": "error", "timeout": "timeout"}


class House:
    """A server, and in each process that uses it a client and a sandbox that cases share."""

    def __init__(self, build, uid=None):
        self.build = build
        self.programs = copy_programs(build)
        self.cove = os.path.join(os.path.abspath(build), "cove")
        self.server = Server(self.programs, ["pool.size=2"], uid)
        self.clients = {}
        self.sandboxes = {}

    def start(self):
        if not self.server.start():
            raise AssertionError(f"the server does not start: {read(self.server.log).decode(errors='replace')}")

    def close(self):
        try:
            if not self.server.running():
                print(f"the server ended by itself: {self.server.process.returncode}")
                print(read(self.server.log).decode(errors="replace")[-3000:], flush=True)
            self.server.stop()
        finally:
            self.server.remove()
            shutil.rmtree(self.programs, ignore_errors=True)

    def client(self):
        return self.clients.setdefault(os.getpid(), self.server.client(PATIENCE))

    def call(self, status, method, path, body=None):
        return self.client().expect(status, method, path, body).json()

    def make_sandbox(self, **order):
        return Sandbox(self, self.call(201, "POST", "/v1/sandboxes", order)["id"])

    def sandbox(self):
        """Of this process."""
        if os.getpid() not in self.sandboxes:
            self.sandboxes[os.getpid()] = self.make_sandbox()
            self.sandboxes[os.getpid()].shell("python3 -c 'import matplotlib.font_manager'")  # it looks for fonts once
        return self.sandboxes[os.getpid()]


class Sandbox:
    def __init__(self, house, id):
        self.house = house
        self.id = id
        self.path = f"/v1/sandboxes/{id}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.house.call(204, "DELETE", self.path)

    def call(self, status, method, path, body=None):
        return self.house.call(status, method, self.path + path, body)

    def run(self, **order):
        return self.call(200, "POST", "/execs?wait=true", order)

    def shell(self, text, **order):
        result = self.run(shell=text, **order)
        if result["status"] != "success":
            raise AssertionError(f"{text}: {result['why']}: {result['stderr']}")
        return result["stdout"]["text"]

    def write(self, path, data):
        self.house.client().expect((200, 201), "PUT", f"{self.path}/files?path={urllib.parse.quote(path)}", data)

    def context(self, language="python", **order):
        return Context(self, self.call(201, "POST", "/contexts", {"language": language, **order}))


class Events:
    """Of one execution, as they come."""

    def __init__(self, house, path, order):
        self.connection = UnixConnection(house.server.socket, PATIENCE)
        self.connection.request("POST", path, json.dumps(order), EVENTS)
        self.response = self.connection.getresponse()
        if self.response.status != 200:
            raise AssertionError(f"POST {path}: {self.response.status} {self.response.read()[:300]}")

    def next(self):
        """A name and its data; None at the end."""
        name, data = "", []
        for line in iter(self.response.readline, b""):
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif not field and data:
                return name, json.loads("\n".join(data))
        return None

    def close(self):
        self.connection.close()


class Context:
    """Of a sandbox, driven as a kernel is."""

    def __init__(self, sandbox, info):
        self.sandbox = sandbox
        self.info = info
        self.id = info["id"]

    def interrupt(self):
        self.sandbox.call(204, "POST", f"/contexts/{self.id}/interrupt")

    def run(self, code, **order):
        """The ExecResult."""
        return self.sandbox.run(context=self.id, code=code, **order)

    def value(self, code):
        """The text of the last expression."""
        result = self.run(code)
        if result["error"]:
            raise AssertionError(f"{code}: {result['error']}")
        return next((each["formats"]["text"] for each in result["results"] if each["main"]), None)

    def stream(self, code, **order):
        return Events(self.sandbox.house, self.sandbox.path + "/execs", {"context": self.id, "code": code, **order})

    def execute(self, code, interrupt_after=None):
        events = self.stream(code)
        outcome = Outcome()
        while (event := events.next()) and event[0] != "exit":
            outcome.take({"type": event[0], **event[1]})
            if interrupt_after is not None and interrupt_after in outcome.stdout:
                interrupt_after = None
                self.interrupt()
        events.close()
        if not event:
            raise AssertionError("the stream ended without an exit")
        self._finish(outcome, event[1]["result"])
        return outcome

    def _finish(self, outcome, result):
        outcome.ended = result["why"].endswith("and the context's interpreter with it")
        outcome.status = "interrupted" if result["why"] == "it was interrupted" else STATUSES.get(result["status"], "")
        expected = [{"main": main, "formats": each} for main, list in ((True, outcome.mains), (False, outcome.displays)) for each in list]
        if sorted(map(str, expected)) != sorted(map(str, result["results"])):
            raise AssertionError("the results of the stream are not those of its end")
        for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
            if not result[name]["truncated"] and result[name].get("text", text) != text:
                raise AssertionError(f"{name} of the stream is not that of its end")

    def close(self):
        self.sandbox.house.client().expect((204, 404), "DELETE", f"{self.sandbox.path}/contexts/{self.id}")

    def complaints(self):
        return ""
