#!/usr/bin/python3
"""Kills the gateway, coved and cove-spawn at random moments while a sandbox tries everything: kill_test.py BUILD [TIMES]. Never may a
packet go where the policy does not lead, and each time what is allowed must work again: by itself after the gateway's death, with
the next server after the server's."""

import os
import random
import signal
import sys
import time

import world
from place import Place, servers

ATTEMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attempts")
POLICY = {"tier": "standard", "allow": ["web.example.org:80,443"]}
REACHABLE = {("udp", world.DNS, 53), ("tcp", world.DNS, 53), ("tcp", world.WEB, 80), ("tcp", world.WEB6, 80), ("tcp", world.WEB, 443),
             ("tcp", world.WEB6, 443)}
PATIENCE = 30


class Run:
    def __init__(self, outside, place, dice):
        self.outside = outside
        self.place = place
        self.dice = dice
        self.longest = 0.0
        self.sandbox = place.sandbox(POLICY)
        for name in ("tries", "forever"):
            with open(f"{ATTEMPTS}/{name}.py", "rb") as file:
                self.sandbox.put(f"/tmp/{name}.py", file.read())
        place.client.expect(201, "POST", self.sandbox.path + "/execs",
                            {"argv": ["/usr/bin/python3", "/tmp/forever.py"], "detach": True,
                             "env": {"COVE_ATTEMPTS": "here"}})
        self.wait_for_service()

    def allowed(self):
        """How often the program inside has reached what it may."""
        result = self.sandbox.exec("cat", "/tmp/allowed")
        return int(result["stdout"].get("text") or 0)

    def wait_for_service(self):
        begun, before = time.monotonic(), self.allowed()
        while self.allowed() < before + 2:  # one may have been on its way
            if time.monotonic() - begun > PATIENCE:
                raise AssertionError(f"nothing allowed works after {PATIENCE} s")
            time.sleep(0.02)
        self.longest = max(self.longest, time.monotonic() - begun)

    def gateway(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if servers.read(f"/proc/{pid}/cmdline").startswith(b"cove-gateway\0") and self.is_ours(pid):
                return int(pid)
        raise AssertionError("no gateway runs")

    def is_ours(self, pid):
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat(f"/run/netns/{self.outside.machine}").st_ino

    def kill(self, what):
        time.sleep(self.dice.random() * 0.3)
        if what == "gateway":
            os.kill(self.gateway(), signal.SIGKILL)
        else:
            self.place.server.kill(what)
            time.sleep(self.dice.random() * 0.2)  # the sandbox goes on, without anybody to serve it
            self.place.client.close()
            if not self.place.server.start():
                raise AssertionError("the server does not start again")

    def judge(self, mark):
        self.outside.settle()
        if beyond := self.outside.reached(mark) - REACHABLE:
            raise AssertionError(f"packets went to {beyond}")
        for entry in self.outside.journal(mark):
            wanted = entry.get("headers", {}).get("host") or entry.get("name") or entry.get("text", "")
            if entry["kind"] != "packet" and wanted != "web.example.org" and not wanted.startswith("settle-"):
                raise AssertionError(f"this arrived: {entry}")

    def revoke(self):
        """Once a change is acknowledged nothing goes where it no longer leads."""
        self.sandbox.patch({"tier": "standard", "allow": []})
        self.outside.settle()
        mark = self.outside.mark()
        time.sleep(0.2)
        self.outside.settle()
        arrived = [entry for entry in self.outside.journal(mark) if entry["kind"] in ("http", "tcp", "dns")]
        if arrived:
            raise AssertionError(f"after a revocation: {arrived[:3]}")
        self.sandbox.patch(POLICY)


def main(build, times):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    with world.World() as outside:
        for rootless in (False, True):
            with Place(build, outside, rootless) as place:
                run = Run(outside, place, random.Random(seed))
                for number in range(times):
                    mark = outside.mark()
                    what = run.dice.choice(("gateway", "gateway", "coved", "cove-spawn", "both"))
                    run.kill(what)
                    run.wait_for_service()
                    if number % 10 == 0:
                        run.revoke()
                        run.wait_for_service()
                    run.judge(mark)
                run.sandbox.remove()
                print(f"{'rootless' if rootless else 'root'}: {times} kills, nothing past the policy, served again after at most "
                      f"{run.longest:.2f} s", flush=True)


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12)
