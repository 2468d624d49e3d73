"""A small Internet of the test's own: two network namespaces that a cable joins.

In one of them, the *machine*, the whole Cove server runs; the other, the *world*, has every other address there is, and
servers (outside.py) that write down what reaches them, each packet included."""

import ctypes
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 30
CLONE_NEWNET = 0x40000000

MACHINE = "44.10.0.1"
MACHINE6 = "2a0f:10::1"
GATEWAY = "44.10.0.254"
GATEWAY6 = "2a0f:10::fe"
DNS = "44.10.0.53"
WEB = "44.10.0.80"
WEB6 = "2a0f:10::80"
OTHER = "44.10.0.81"
GIT = "44.10.0.22"
PRIVATE = "10.20.0.1"
METADATA = "169.254.169.254"
MAC = {"cove0": "02:00:00:00:00:01", "cove1": "02:00:00:00:00:02"}


def run(*words, **named):
    return subprocess.run(words, check=True, capture_output=True, text=True, **named).stdout


class World:
    """For a `with` statement. Needs root."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cove-world-")
        os.chmod(self.folder, 0o755)
        self.machine = f"cove-machine-{os.getpid()}"
        self.world = f"cove-world-{os.getpid()}"
        self.servers = []
        self.authority = self.folder + "/authority.pem"  # of the world's HTTPS servers

    def __enter__(self):
        try:
            self._cable()
            self._certificates()
            self._serve()
            self.bell = self._socket_on_machine()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for each in self.servers:
            each.kill()
            each.wait()
        for name in (self.machine, self.world):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def on_machine(self, *words):
        """The words of a command that then runs in the machine's network, and otherwise where the test does."""
        return ["nsenter", f"--net=/run/netns/{self.machine}", *words]

    def in_world(self, *words):
        return ["nsenter", f"--net=/run/netns/{self.world}", *words]

    # --- what happened ---

    def journal(self, after=0):
        """Entries since that mark: {"kind": "packet" | "dns" | "http" | "tcp" | "udp", …}."""
        with open(self.folder + "/journal", "rb") as file:
            file.seek(after)
            return [json.loads(line) for line in file.read().split(b"\n")[:-1]]

    def mark(self):
        """Of the end of the journal."""
        with open(self.folder + "/journal", "rb") as file:
            return file.read().rfind(b"\n") + 1

    def visits(self):
        """How often someone connected to the machine's own service."""
        with open(self.folder + "/machine", "rb") as file:
            return file.read().count(b"\n")

    def settle(self):
        """After this, the journal has every packet that was sent before."""
        token, mark = f"settle-{time.monotonic_ns()}", self.mark()
        self.bell.sendto(token.encode(), (GATEWAY, 9))
        deadline = time.monotonic() + PATIENCE
        while not any(entry.get("text") == token for entry in self.journal(mark)):
            if time.monotonic() > deadline:
                raise AssertionError("the world's servers do not answer any more")
            time.sleep(0.002)

    def reached(self, after=0):
        """Where packets went since then, as (protocol, address, port), but for the marks of settle()."""
        return {(entry["protocol"], entry["to"], entry["port"]) for entry in self.journal(after)
                if entry["kind"] == "packet" and (entry["to"], entry["port"]) != (GATEWAY, 9)}

    # --- set-up ---

    def _cable(self):
        for name in (self.machine, self.world):
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "link", "add", "cove0", "netns", self.machine, "type", "veth", "peer", "name", "cove1", "netns",
            self.world)
        for name, link, four, six, peer, peer6 in ((self.machine, "cove0", MACHINE, MACHINE6, GATEWAY, GATEWAY6),
                                                   (self.world, "cove1", GATEWAY, GATEWAY6, MACHINE, MACHINE6)):
            run("ip", "-n", name, "link", "set", link, "address", MAC[link], "up")
            run("ip", "-n", name, "address", "add", four, "peer", peer, "dev", link)
            run("ip", "-n", name, "address", "add", six, "peer", peer6, "dev", link, "nodad")
            run("ip", "-n", name, "neighbour", "add", peer6, "lladdr", MAC["cove1" if link == "cove0" else "cove0"], "dev", link)
        for version, gateway in (("-4", GATEWAY), ("-6", GATEWAY6)):
            run("ip", version, "-n", self.machine, "route", "add", "default", "via", gateway)
        # Every other address is one of the world's own. What it sends back must be asked about first.
        for version, net, machine in (("-4", "0.0.0.0/0", MACHINE), ("-6", "::/0", MACHINE6)):
            ip = ["ip", version, "-n", self.world]
            run(*ip, "rule", "add", "to", machine, "lookup", "main", "priority", "1")
            run(*ip, "rule", "add", "lookup", "local", "priority", "5")
            run(*ip, "rule", "delete", "priority", "0")
            run(*ip, "route", "add", "local", net, "dev", "lo", "table", "local")

    def _socket_on_machine(self):
        """For datagrams; made by a thread that enters the machine's network, and used from anywhere."""
        made = []

        def make():
            with open(f"/run/netns/{self.machine}", "rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return made[0]

    def _certificates(self):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run("openssl", "req", "-x509", *key, "-keyout", self.folder + "/authority.key", "-out", self.authority, "-days",
            "2", "-subj", "/CN=The world")
        names = "DNS:example.org,DNS:*.example.org,DNS:*.wild.example.org,DNS:example.net,DNS:*.example.net,IP:" + WEB
        run("openssl", "req", *key, "-keyout", self.folder + "/server.key", "-out", self.folder + "/server.csr", "-subj",
            "/CN=example.org", "-addext", "subjectAltName=" + names)
        run("openssl", "x509", "-req", "-in", self.folder + "/server.csr", "-CA", self.authority, "-CAkey",
            self.folder + "/authority.key", "-CAcreateserial", "-days", "2", "-copy_extensions", "copy", "-out",
            self.folder + "/server.pem")
        run("openssl", "req", "-x509", *key, "-keyout", self.folder + "/stranger.key", "-out", self.folder + "/stranger.pem",
            "-days", "2", "-subj", "/CN=untrusted.example.org", "-addext", "subjectAltName=DNS:untrusted.example.org")

    def _serve(self):
        self._begin(self.in_world(sys.executable, FOLDER + "/outside.py", self.folder))
        self._begin(self.on_machine(sys.executable, FOLDER + "/beside.py", self.folder + "/machine"))

    def _begin(self, words):
        ready, told = os.pipe()
        with open(self.folder + "/log", "ab") as log:
            self.servers.append(subprocess.Popen(words + [str(told)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                 pass_fds=[told]))
        os.close(told)
        with os.fdopen(ready, "rb") as pipe:
            if pipe.read() != b"ready":
                with open(self.folder + "/log", encoding="utf-8") as log:
                    raise AssertionError("the world's servers do not start: " + log.read())
