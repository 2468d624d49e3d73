"""A Cove server of a test's own, and sandboxes in it."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import http.client

HERE = pathlib.Path(__file__).parent


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class House:
    """`words` are further ones for `cove serve`."""

    def __init__(self, build, *words):
        self.build = os.path.abspath(build)
        self.folder = tempfile.mkdtemp(prefix="cove-previews-")
        os.chmod(self.folder, 0o755)
        self.socket = f"{self.folder}/api.sock"
        self.words = words
        self.sandboxes = []
        self.start()

    def start(self):
        self.log = open(f"{self.folder}/log", "wb")
        command = [f"{self.build}/cove", "serve", "--state", f"{self.folder}/state", "--listen", f"unix:{self.socket}", *self.words]
        self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)
        until = time.monotonic() + 60
        while not (found := re.findall(r"^cove: serving at .*\btcp:127\.0\.0\.1:(\d+)$", self.said(), re.MULTILINE)):
            if self.server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start: {self.said()}")
            time.sleep(0.02)
        self.port = int(found[-1])

    def said(self):
        return pathlib.Path(f"{self.folder}/log").read_text()

    def stop(self):
        os.kill(self.server.pid, signal.SIGTERM)
        self.server.wait(60)

    def close(self):
        if self.server.poll() is None:
            for sandbox in self.sandboxes:
                self.ask("DELETE", f"/v1/sandboxes/{sandbox.id}")
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, method, path, body=None):
        connection = UnixConnection(self.socket)
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"} if body is not None else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, json.loads(data) if data else None

    def call(self, method, path, body=None):
        status, data = self.ask(method, path, body)
        assert status < 300, (method, path, status, data)
        return data

    def cove(self, *words, **options):
        environment = {**os.environ, "COVE_HOST": f"unix:{self.socket}", **options.pop("env", {})}
        return subprocess.run([f"{self.build}/cove", *words], env=environment, capture_output=True, text=True, timeout=120, **options)

    def sandbox(self, **body):
        sandbox = Sandbox(self, self.call("POST", "/v1/sandboxes", body)["id"])
        self.sandboxes.append(sandbox)
        return sandbox

    def coved(self):
        """The server's process, for what it uses."""
        for status in pathlib.Path("/proc").glob("[0-9]*/status"):
            try:
                text = status.read_text()
            except OSError:
                continue
            if text.startswith("Name:\tcoved\n") and f"PPid:\t{self.server.pid}\n" in text:
                return int(status.parent.name)
        raise RuntimeError("there is no coved")


class Sandbox:
    def __init__(self, house, id):
        self.house = house
        self.id = id
        self.path = f"/v1/sandboxes/{id}"

    def put(self, path, text):
        connection = UnixConnection(self.house.socket)
        connection.request("PUT", f"{self.path}/files?path={path}", text)
        assert connection.getresponse().status < 300

    def start(self, *argv):
        return self.house.call("POST", f"{self.path}/execs", {"argv": list(argv)})

    def run(self, *argv):
        return self.house.call("POST", f"{self.path}/execs?wait=true", {"argv": list(argv)})["stdout"]["text"]

    def serve(self, port=8080):
        """Starts inside.py; returns when it listens."""
        self.put("inside.py", (HERE / "inside.py").read_text())
        self.start("python3", "inside.py", str(port))
        self.await_port(port)

    def await_port(self, port):
        until = time.monotonic() + 60
        while port not in [one["port"] for one in self.house.call("GET", f"{self.path}/ports")["items"]]:
            assert time.monotonic() < until, f"nothing listens at {port}"
            time.sleep(0.05)

    def access(self, port, access):
        return self.house.call("PATCH", f"{self.path}/ports/{port}", {"access": access})

    def link(self, port=8080, **more):
        return self.house.call("POST", f"{self.path}/tokens", {"port": port, **more})

    def host(self, port=8080):
        return f"{port}-{self.id}.localhost:{self.house.port}"
