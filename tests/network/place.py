"""A Cove server on the machine of a small world (world.py), and sandboxes of it."""

import base64
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crash"))
import server as servers
import world

servers.PROGRAMS += ("cove", "cove-host", "cove-gateway", "cove-stat.so")
ROOTLESS_UID = 64123


class Place:
    """For a `with` statement: one server, as root or as an ordinary user."""

    def __init__(self, build, outside, rootless=False, settings=()):
        self.outside = outside
        self.programs = servers.copy_programs(build)
        own = [f"network.resolvers={world.DNS}", f"network.upstream_ca={outside.authority}"]
        self.server = servers.Server(self.programs, own + list(settings), uid=ROOTLESS_UID if rootless else None,
                                     within=outside.on_machine())

    def __enter__(self):
        self.server.start()
        self.client = self.server.client(120)
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.server.stop()
        self.server.remove()
        shutil.rmtree(self.programs)

    def sandbox(self, network=None, client=None, **more):
        body = {"network": network, **more} if network else more
        client = client or self.client
        return Sandbox(client, client.expect(201, "POST", "/v1/sandboxes", body).json()["id"])


class Sandbox:
    def __init__(self, client, name):
        self.client = client
        self.id = name
        self.path = "/v1/sandboxes/" + name

    def exec(self, *argv, **more):
        """The ExecResult."""
        return self.client.expect(200, "POST", self.path + "/execs?wait=true", {"argv": list(argv), **more}).json()

    def run(self, *argv, **more):
        """Standard output, of a command that succeeds."""
        result = self.exec(*argv, **more)
        if result["status"] != "success":
            raise AssertionError(f"{argv}: {result}")
        return text(result["stdout"])

    def put(self, path, data):
        self.client.expect((200, 201, 204), "PUT", f"{self.path}/files?path={path}", data)

    def log(self, after=0):
        """Entries of the network's log after that sequence number."""
        return self.client.expect(200, "GET", f"{self.path}/network/log?after={after}&limit=1000").json()["items"]

    def last(self):
        entries = self.log()
        while entries and (more := self.log(entries[-1]["seq"])):
            entries = more
        return entries[-1]["seq"] if entries else 0

    def patch(self, network, status=200):
        return self.client.expect(status, "PATCH", self.path, {"network": network}).json()

    def remove(self):
        self.client.expect((200, 202, 204), "DELETE", self.path)


def text(output):
    return output["text"] if "text" in output else base64.b64decode(output["base64"]).decode(errors="replace")
