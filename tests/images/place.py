"""Where tests of images take place: a server, a registry, layouts on disk; and what runs the tests."""

import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import urllib.parse

import server as servers
from layouts import Layout
from registry import Registry

servers.PROGRAMS += ("cove", "cove-host", "cove-stat.so")


class Place:
    """A server, a registry, and layouts on disk."""

    def __init__(self, build):
        self.build = build
        self.folder = tempfile.mkdtemp(prefix="cove-images-")
        self.programs = servers.copy_programs(build)
        self.server = servers.Server(self.programs, ["pool.size=2", "admission.memory=100g"])
        self.server.start()
        self.client = self.server.client(120)
        self.registry = Registry(self.folder)
        self.count = 0

    def layout(self):
        self.count += 1
        return Layout(f"{self.folder}/layout{self.count}")

    def publish(self, name, archives, config=None, how=("gzip",)):
        layout = self.layout()
        digest = layout.add("x", archives, config, how)
        self.registry.push(layout.folder, "x", name)
        return layout, digest

    def pull(self, name, status=200, **more):
        self.client.close()  # what comes before takes long, and the server does not wait for ever
        body = {"reference": f"{self.registry.address}/{name}", **more}
        return self.client.expect(status, "POST", "/v1/images?wait=true", body).json()

    def cove(self, *words, ok=True, input=None):
        env = {"PATH": os.environ["PATH"], "COVE_HOST": f"unix:{self.server.socket}", "HOME": self.folder, "COVE_STATE": self.server.state}
        done = subprocess.run([self.programs + "/cove", *words], env=env, input=input, capture_output=True)
        if ok and done.returncode != 0:
            raise AssertionError(f"cove {' '.join(words)}: {done.returncode}: {done.stderr.decode()}")
        return done

    def run(self, *words):
        return self.cove("run", "--server", *words).stdout.decode()

    def end(self):
        self.registry.stop()
        self.server.stop()
        self.server.remove()
        shutil.rmtree(self.programs)
        shutil.rmtree(self.folder)


def equal(ours, theirs):
    if ours != theirs:
        raise AssertionError(f"{ours!r} is not {theirs!r}")


def part(name):
    return urllib.parse.quote(name, safe="")


def main(tests):
    """Runs every function of `tests` that is named test_…; the words of the command line are BUILD [NAME…]."""
    place = Place(sys.argv[1])
    wanted = sys.argv[2:]
    passed = failed = 0
    for name, test in list(tests.items()):
        if not name.startswith("test_") or (wanted and not any(word in name for word in wanted)):
            continue
        try:
            test(place)
            passed += 1
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
    if failed:
        print(servers.read(place.server.log).decode(errors="replace")[-2000:])
    try:
        place.end()
    except Exception:
        failed += 1
        traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
