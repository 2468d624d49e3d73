"""What the tests print, and what they measure of a server's processes."""

import os
import sys
import time

from server import read


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def count(self, name, wrong, seconds, extra=""):
        if not wrong:
            self.passed += 1
            print(f"  ok    {name} {extra}({seconds:.1f} s)", flush=True)
            return
        self.failed += 1
        print(f"  FAIL  {name} {extra}({seconds:.1f} s)")
        for line in wrong[:12]:
            print(f"        {line}")
        if len(wrong) > 12:
            print(f"        and {len(wrong) - 12} more")
        sys.stdout.flush()

    def run(self, name, server, what, start=None):
        """One test of a server; after a failure its folder is kept. Returns whether it passed."""
        start = start or time.monotonic()
        wrong = guarded(server, what)
        self.count(name, wrong, time.monotonic() - start)
        if wrong:
            keep(server)
        return not wrong

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def guarded(server, what):
    """A complaint in place of an exception."""
    try:
        return what()
    except Exception as error:  # whatever it was, it is the finding
        log = read(server.log).decode(errors="replace").splitlines()[-8:]
        return [f"{type(error).__name__}: {error}"] + [f"log: {line}" for line in log]


def keep(server):
    server.end_sandboxes()
    print(f"        kept: {server.folder} (state, log, journal)", flush=True)


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0


def memory_of(pid):
    return int(read(f"/proc/{pid}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def resources(server):
    """Of both processes: resident memory, open descriptors, threads."""
    return {name: {"memory": memory_of(pid), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
                   "threads": len(os.listdir(f"/proc/{pid}/task"))}
            for name, pid in (("coved", server.coved()), ("cove-spawn", server.process.pid))}


def settle(server, patience=30):
    """Resources once they go down no more: what the last requests left is let go a little later."""
    until = time.monotonic() + patience
    last = resources(server)
    while time.monotonic() < until:
        time.sleep(1)
        now = resources(server)
        if all(now[name]["descriptors"] >= last[name]["descriptors"] for name in now):
            return now
        last = now
    return last
