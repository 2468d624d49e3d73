#!/usr/bin/env python3
"""Many clients at once; afterwards the server is as it was before.

load_test.py BUILD [SECONDS] [CLIENTS]

Every answer must be what was asked for, or 429 with Retry-After. At the end memory and descriptors of coved and
cove-spawn are compared with those at the start, which are taken after a first round of the same load: caches and
threads are there then.
"""

import os
import random
import shutil
import sys
import threading
import time

from model import LIMITS
from report import Tally, percentile, resources, settle
from server import KEEP_NO_EXECS, Server, ServerGone, copy_programs

MOST_MORE_MEMORY = 16 << 20  # bytes that each process may have more at the end
MOST_MORE_DESCRIPTORS = 8
WARM_UP = 0.25  # of the time of the load itself
MOST_SANDBOXES = 48  # fewer than clients: some are refused


class Clients:
    def __init__(self, server, count, seconds):
        self.server = server
        self.until = time.monotonic() + seconds
        self.times = {}
        self.refused = 0
        self.wrong = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.guard, args=(i,), daemon=True) for i in range(count)]

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        return self

    def guard(self, number):
        client = self.server.client(120)
        try:
            while time.monotonic() < self.until and not self.wrong:
                self.turn(client, number)
        except (ServerGone, AssertionError) as error:
            with self.lock:
                self.wrong.append(str(error))
        finally:
            client.close()

    def call(self, what, client, status, *request):
        start = time.monotonic()
        answer = client.expect(status, *request)
        with self.lock:
            self.times.setdefault(what, []).append(time.monotonic() - start)
            self.refused += answer.status == 429
        if answer.status == 429 and (int(answer.headers.get("Retry-After", 0)) < 1 or "detail" not in answer.json()):
            raise AssertionError(f"a 429 that is not clear: {answer.headers} {answer}")
        return answer

    def turn(self, client, number):
        """One sandbox's life: everything a client does."""
        made = self.call("create", client, (201, 429), "POST", "/v1/sandboxes", {"limits": LIMITS, "labels": {"client": str(number)}})
        if made.status == 429:
            time.sleep(random.uniform(0.1, 0.5))
            return
        path = f"/v1/sandboxes/{made.json()['id']}"
        try:
            for _ in range(random.randrange(1, 6)):
                random.choice([self.execute, self.stream, self.transfer, self.look])(client, path)
        finally:
            self.call("delete", client, 204, "DELETE", path)

    def execute(self, client, path):
        word = f"w{random.randrange(1 << 30)}"
        result = self.call("exec", client, 200, "POST", path + "/execs?wait=true", {"argv": ["echo", word]}).json()
        if result["exit_code"] != 0 or result["stdout"]["text"] != word + "\n":
            raise AssertionError(f"echo {word}: {result}")

    def stream(self, client, path):
        exec = self.call("exec detached", client, 201, "POST", path + "/execs", {"argv": ["seq", "1", "3000"], "stdin": None}).json()
        position, text = 1, ""
        while True:
            page = self.call("output", client, 200, "GET", f"{path}/execs/{exec['id']}/output?from={position}").json()
            text += "".join(chunk["text"] for chunk in page["chunks"])
            position = page["next"]
            if page["ended"] and not page["chunks"]:
                break
            if not page["chunks"]:
                time.sleep(0.01)
        if text != "".join(f"{i}\n" for i in range(1, 3001)):
            raise AssertionError(f"seq of {path} printed {len(text)} bytes")

    def transfer(self, client, path):
        content = random.randbytes(random.choice([10, 20000, 500000]))
        self.call("upload", client, 201, "PUT", f"{path}/files?path=/tmp/f{random.randrange(1 << 30)}", content)
        name = f"/tmp/g{random.randrange(1 << 30)}"
        self.call("upload", client, 201, "PUT", f"{path}/files?path={name}", content)
        if self.call("download", client, 200, "GET", f"{path}/files?path={name}").data != content:
            raise AssertionError(f"{name} of {path} came back changed")

    def look(self, client, path):
        self.call("get", client, 200, "GET", path)
        self.call("list", client, 200, "GET", "/v1/sandboxes?limit=100")
        self.call("stats", client, 200, "GET", path + "/stats")


def compare(before, after):
    wrong = []
    for name in before:
        more_memory = after[name]["memory"] - before[name]["memory"]
        more_descriptors = after[name]["descriptors"] - before[name]["descriptors"]
        if more_memory > MOST_MORE_MEMORY:
            wrong.append(f"{name} has {more_memory >> 10} KiB more than before (at most {MOST_MORE_MEMORY >> 10})")
        if more_descriptors > MOST_MORE_DESCRIPTORS:
            wrong.append(f"{name} has {more_descriptors} descriptors more than before (at most {MOST_MORE_DESCRIPTORS})")
    return wrong


def describe(found):
    return "; ".join(f"{name} {values['memory'] >> 10} KiB, {values['descriptors']} descriptors, {values['threads']} threads"
                     for name, values in found.items())


def load(server, clients, seconds):
    server.start()
    first = Clients(server, clients, max(1, seconds * WARM_UP)).run()
    before = settle(server)
    second = Clients(server, clients, seconds).run()
    after = settle(server)
    print(f"  {clients} clients, {seconds} s: {sum(map(len, second.times.values()))} requests, {second.refused} refused with 429")
    for what, times in sorted(second.times.items()):
        print(f"    {what:14} {len(times):6}  p50 {percentile(times, 50) * 1000:8.1f} ms  p99 {percentile(times, 99) * 1000:8.1f} ms")
    print(f"    before: {describe(before)}\n    after:  {describe(after)}")
    wrong = first.wrong + second.wrong + compare(before, after)
    if clients > MOST_SANDBOXES and not second.refused:
        wrong.append("nobody was refused")
    left = server.client().expect(200, "GET", "/v1/sandboxes").json()["items"]
    wrong += [f"sandbox {sandbox['id']} is left over" for sandbox in left]
    server.stop()
    return wrong + [f"left over: {trace}" for trace in server.wait_for_nothing()]


def main():
    if len(sys.argv) < 2 or os.geteuid() != 0:
        raise SystemExit(__doc__ + "Needs root.")
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    clients = int(sys.argv[3]) if len(sys.argv) > 3 else 64
    programs = copy_programs(sys.argv[1])
    server = Server(programs, [f"admission.sandboxes={MOST_SANDBOXES}", KEEP_NO_EXECS])
    tally = Tally()
    start = time.monotonic()
    tally.run(f"{clients} clients for {seconds:g} s", server, lambda: load(server, clients, seconds), start)
    if not tally.failed:
        server.remove()
    shutil.rmtree(programs, ignore_errors=True)
    sys.exit(tally.end())


if __name__ == "__main__":
    main()
