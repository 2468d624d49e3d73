#!/usr/bin/python3
"""Kills coved, cove-spawn, or those that work for it (cove-unpack, and whoever mounts and removes) while images are pulled,
loaded, imported, removed and pruned: kill_test.py BUILD [TIMES]. After each time the next server must start, every image on record
must be whole, what was acknowledged must be there (and what was removed gone), and nothing half-made may be left. The last line
is the sum."""

import collections
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "crash"), os.path.dirname(__file__)]
import server as servers
from layouts import Layer, Layout
from registry import Registry

IMAGES = 4
# Where a server can be made to die by itself, beside any moment.
POINTS = ["image.unpack.begun", "image.unpack.done", "image.unpack.publish", "image.assemble", "image.remove", "image.blob.stored",
          "image.record.before", "image.record.after"]


class Bench:
    def __init__(self, build, seed):
        self.random = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="cove-kills-")
        self.programs = servers.copy_programs(build)
        self.server = servers.Server(self.programs, ["pool.size=0"])
        self.registry = Registry(self.folder)
        self.archives = []
        shared = Layer().folder("shared").file("shared/f", os.urandom(1 << 20)).archive()
        for number in range(IMAGES):
            layout = Layout(f"{self.folder}/layout{number}")
            own = Layer().folder("own").file("own/f", os.urandom(2 << 20)).whiteout("shared/g").archive()
            layout.add("x", [shared, own, Layer().file(f"without/folders/{number}", b"x").archive()])
            self.registry.push(layout.folder, "x", f"i{number}:1")
            self.archives.append(layout.tar(f"{self.folder}/{number}.tar"))
        root = Layer().folder("root").file("root/f", os.urandom(1 << 20)).archive()
        self.root = root
        self.there = set()  # names that must be there
        self.maybe = set()  # of those, and of others, nobody knows
        self.doing = "nothing"
        self.helpers_killed = 0  # since this server was started
        self.tally = collections.Counter()

    def name(self, number):
        return f"{self.registry.address}/i{number}:1"

    def act(self, client):
        """One request; what was answered counts."""
        what = self.doing = self.random.choice(["pull", "pull", "pull", "load", "import", "remove", "prune"])
        number = self.random.randrange(IMAGES)
        name = {"load": "x:latest", "import": f"imported:{number}"}.get(what, self.name(number))
        before = set(self.there)
        if what == "prune":
            self.maybe |= self.there
        else:
            self.maybe.add(name)
        if what == "pull":
            answer = client.call("POST", "/v1/images?wait=true", {"reference": name})
        elif what == "load":
            with open(self.archives[number], "rb") as file:
                answer = client.call("POST", "/v1/images/load", file.read())
        elif what == "import":
            answer = client.call("POST", f"/v1/images/import?name={name}", self.root)
        elif what == "remove":
            answer = client.call("DELETE", "/v1/images/" + name.replace("/", "%2F"))
        else:
            answer = client.call("POST", "/v1/images/prune", {"all": True})
        self.doing = "nothing"
        if answer.status == 503 or (answer.status >= 400 and self.helpers_killed):
            return
        if answer.status >= 500:
            raise AssertionError(f"{what}: {answer}")
        if what == "prune":
            self.there -= before
            self.maybe -= before
        elif what == "remove":
            self.there.discard(name)
            self.maybe.discard(name)
        else:
            if answer.status >= 400:
                raise AssertionError(f"{what}: {answer}")
            self.there.add(name)
            self.maybe.discard(name)

    def work(self):
        client = self.server.client(60)
        try:
            while True:
                self.act(client)
        except servers.ServerGone:
            pass
        except AssertionError as error:
            self.failure = error
        client.close()

    def helpers(self):
        """Processes that work for cove-spawn; coved is none."""
        found, looked_at = [], [self.server.process.pid]
        while looked_at:
            pid = looked_at.pop()
            children = servers.read(f"/proc/{pid}/task/{pid}/children").split()
            looked_at += [int(child) for child in children]
            found += looked_at[-len(children):] if children else []
        return [pid for pid in found if self.program_of(pid) in ("cove-spawn", "cove-unpack")]

    def program_of(self, pid):
        try:
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return ""
        return os.path.basename(program) if program.startswith(self.programs + "/") else ""

    def kill_helpers(self, until):
        """One or two of them, whenever some are there."""
        wanted = self.random.randrange(1, 3)
        while self.helpers_killed < wanted and time.monotonic() < until:
            found = self.helpers()
            unpackers = [pid for pid in found if self.program_of(pid) == "cove-unpack"]
            pid = self.random.choice(unpackers or found or [0])
            time.sleep(self.random.random() * 0.01)
            if program := self.program_of(pid):
                self.helpers_killed += 1
                self.tally[f"{program} at work, during {self.doing}"] += 1
                os.kill(pid, signal.SIGKILL)

    def kill_once(self, number):
        point = f"{POINTS[number // 2 % len(POINTS)]}:{self.random.randrange(1, 3)}" if number % 2 else None
        self.failure, self.helpers_killed = None, 0
        if not self.server.start(point):
            self.server.wait_for_end()  # it died while it took over
            self.tally[f"{point.split(':')[0]}, during the start"] += 1
            return
        worker = threading.Thread(target=self.work)
        worker.start()
        if point:
            worker.join(3)
        elif number % 4 == 0:
            self.kill_helpers(time.monotonic() + 3)
        time.sleep(0 if point else self.random.random() * 0.6)
        if self.server.running():
            which = self.random.choice(["coved", "cove-spawn", "both"])
            self.tally[f"{which}, during {self.doing}"] += 1
            self.server.kill(which)
        else:
            self.tally[f"{point.split(':')[0]}, during {self.doing}"] += 1
        worker.join()
        if self.failure:
            raise self.failure

    def check(self):
        self.server.start()
        client = self.server.client(120)
        images = [image for image in client.expect(200, "GET", "/v1/images").json()["items"] if image["digest"]]
        names = {name for image in images for name in image["names"]}
        if missing := self.there - self.maybe - names:
            raise AssertionError(f"acknowledged, and not there: {missing}")
        if extra := names - self.there - self.maybe:
            raise AssertionError(f"removed, and there: {extra}")
        self.there, self.maybe = names, set()
        for image in images:
            verdict = client.expect(200, "POST", f"/v1/images/{image['digest']}/verify", {}).json()
            if not verdict["ok"]:
                raise AssertionError(f"{image['name']}: {verdict['problems']}")
        folder = self.server.state + "/images"
        left = [name for name in servers.listing(folder) if name.startswith("tmp-")]
        roots = set(servers.listing(folder + "/roots")) - {image["digest"][7:] for image in images}
        if left or roots:
            raise AssertionError(f"left over: {left} {roots}")
        client.close()
        self.server.stop()

    def end(self):
        self.registry.stop()
        self.server.remove()
        shutil.rmtree(self.programs)
        shutil.rmtree(self.folder)


def main():
    build, times = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    seed = int(os.environ.get("COVE_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    bench = Bench(build, seed)
    passed = failed = 0
    try:
        for number in range(times):
            bench.kill_once(number)
            bench.check()
            passed += 1
    except Exception:
        failed += 1
        traceback.print_exc()
        print(servers.read(bench.server.log).decode(errors="replace")[-3000:])
        if bench.server.running():
            bench.server.kill("both")
    bench.end()
    for what, count in sorted(bench.tally.items()):
        print(f"{count:4} {what}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
