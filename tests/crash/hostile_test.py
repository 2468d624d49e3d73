#!/usr/bin/env python3
"""Programs that try to take the machine down, each in a sandbox, while a second client measures the API.

hostile_test.py BUILD [SECONDS]     SECONDS of measuring for each of them (6)

Every request of the second client must be answered, and right; an exec into the hostile sandbox must work; coved must
not grow while a program floods it with output; at the end the hostile program is killed and its sandbox deleted.
The times are printed, not judged: how long others may take is a matter of the machine.
"""

import os
import shutil
import sys
import threading
import time

from report import Tally, memory_of, percentile
from server import KEEP_NO_EXECS, Server, copy_programs

MOST_GROWTH = 64 << 20  # bytes of coved, while one of them runs
EXECS_INSIDE = 6
HOSTILE_LIMITS = {"memory": "256m", "disk": "64m", "processes": 128, "cpus": 1}
PLAIN_LIMITS = {"memory": "64m", "disk": "64m"}

ATTACKS = {
    "fork bomb": "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
    "memory bomb": "import os\nwhile True:\n  if os.fork() == 0:\n    x=[]\n    while True: x.append(bytearray(b'x')*(1<<20))\n  os.wait()",
    "disk filler": "import itertools\nfor i in itertools.count():\n  try: open(f'f{i}','wb').write(b'x'*(1<<20))\n  except OSError: pass",
    "inode filler": "import itertools\nfor i in itertools.count():\n  try: open(f'f{i}','w').close()\n  except OSError: pass",
    "output flood": "import sys\nwhile True: sys.stdout.write('x'*65536)",
    "descriptor flood": "import os,socket\nheld=[]\nwhile True:\n  try: held.append(socket.socketpair())\n  except OSError:\n"
                        "    try: os.fork()\n    except OSError: pass",
    "cpu hog": "import os\nfor i in range(50): os.fork() or exec('while True: pass')\nwhile True: pass",
}


class Measure:
    """The second client: executes `true` in a sandbox of its own and lists, over and over."""

    def __init__(self, server, sandbox):
        self.times = {"exec true": [], "list": []}
        self.wrong = []
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.guard, args=(server.client(60), sandbox), daemon=True)
        self.thread.start()

    def guard(self, client, sandbox):
        try:
            while not self.ending.is_set():
                self.turn(client, sandbox)
        except Exception as error:  # no answer, or a wrong one
            self.wrong.append(f"the second client: {error}")
        client.close()

    def turn(self, client, sandbox):
        start = time.monotonic()
        result = client.expect(200, "POST", f"/v1/sandboxes/{sandbox}/execs?wait=true", {"argv": ["true"]}).json()
        self.times["exec true"].append(time.monotonic() - start)
        if result["exit_code"] != 0:
            raise AssertionError(f"true: {result}")
        start = time.monotonic()
        listed = client.expect(200, "GET", "/v1/sandboxes").json()["items"]
        self.times["list"].append(time.monotonic() - start)
        if sandbox not in [one["id"] for one in listed]:
            raise AssertionError(f"sandbox {sandbox} is not in the list")

    def stop(self):
        self.ending.set()
        self.thread.join(120)
        if self.thread.is_alive():
            self.wrong.append("the second client got no answer for two minutes")

    def describe(self):
        return "; ".join(f"{what} p50 {percentile(times, 50) * 1000:.1f} ms, p99 {percentile(times, 99) * 1000:.1f} ms, "
                         f"{len(times)} times" for what, times in self.times.items())


def attack(server, name, program, seconds):
    client = server.client(120)
    wrong = []
    plain = client.expect(201, "POST", "/v1/sandboxes", {"limits": PLAIN_LIMITS}).json()["id"]
    hostile = client.expect(201, "POST", "/v1/sandboxes", {"limits": HOSTILE_LIMITS}).json()["id"]
    path = f"/v1/sandboxes/{hostile}"
    before = memory_of(server.coved())
    exec = client.expect(201, "POST", path + "/execs", {"argv": ["python3", "-c", program], "stdin": None}).json()["id"]
    measure = Measure(server, plain)
    most = before
    start = time.monotonic()
    inside = []
    while time.monotonic() < start + seconds and not measure.wrong:
        most = max(most, memory_of(server.coved()))
        if time.monotonic() > start + len(inside) * seconds / EXECS_INSIDE:
            inside.append(exec_inside(client, path, wrong))
        time.sleep(0.05)
    measure.stop()
    if most - before > MOST_GROWTH:
        wrong.append(f"coved grew by {most - before >> 20} MiB (at most {MOST_GROWTH >> 20})")
    state = client.expect(200, "GET", path).json()["state"]
    if state != "running":
        wrong.append(f"the hostile sandbox is {state}")
    killed = client.expect(200, "DELETE", f"{path}/execs/{exec}").json()
    client.expect(204, "DELETE", path)
    client.expect(204, "DELETE", f"/v1/sandboxes/{plain}")
    print(f"    {name}: {measure.describe()}\n      exec into it "
          f"{', '.join(f'{t * 1000:.0f}' for t in inside)} ms; coved +{most - before >> 10} KiB; it: {killed['status']}")
    return wrong + measure.wrong


def exec_inside(client, path, wrong):
    """Also where every process and all the memory is taken: it may be refused by the kernel, not by us."""
    start = time.monotonic()
    result = client.expect(200, "POST", path + "/execs?wait=true", {"argv": ["echo", "fine"], "timeout": "60s"}).json()
    if result["exit_code"] != 0 or result["stdout"]["text"] != "fine\n":
        wrong.append(f"exec into the hostile sandbox: {result['status']}, {result['exit_code']}, {result['why']}")
    return time.monotonic() - start


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        raise SystemExit(__doc__ + "Needs root.")
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 6
    programs = copy_programs(sys.argv[1])
    server = Server(programs, [KEEP_NO_EXECS])
    server.start()
    tally = Tally()
    for name, program in {"nothing": "import time\ntime.sleep(3600)", **ATTACKS}.items():
        if not tally.run(name, server, lambda: attack(server, name, program, seconds)):
            server = Server(programs, [KEEP_NO_EXECS])
            server.start()

    def end():
        server.stop()
        return [f"left over: {trace}" for trace in server.wait_for_nothing()]

    if tally.run("nothing is left", server, end):
        server.remove()
    shutil.rmtree(programs, ignore_errors=True)
    sys.exit(tally.end())


if __name__ == "__main__":
    main()
