#!/usr/bin/python3
"""Languages and their versions with a real server: languages_test.py BUILD [NAME…]. The last line is the sum."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "crash"), os.path.dirname(__file__)]
import roots
import server as servers
from programs import BROKEN, FAILING, PACKAGED, RAISING, VERSIONS

servers.PROGRAMS += ("cove", "cove-host")

# A language whose compiler takes as long as it is told, and copies the program; and one that is only in the table.
MORE = """
[languages.slow]
extension = ".slow"
compile = ["sh", "-c", "eval sleep $(sed -n 's/^# compile //p' {file}); cp {file} {out} && chmod +x {out}"]
[languages.missing.versions."1"]
image = "not/there:1"
command = "missing {file}"
"""


class Place:
    """A server whose table has the images of all versions."""

    def __init__(self, build):
        self.programs = servers.copy_programs(build)
        self.server = servers.Server(self.programs, ["pool.size=2", "admission.memory=100g"])
        self.config = self.server.folder + "/cove.toml"
        with open(self.config, "w") as file:
            file.write(self.table(build) + MORE)
        self.server.env = {"COVE_CONFIG": self.config}
        self.server.start()
        self.client = self.server.client(120)
        self.import_images(build)

    def images(self, build):
        folder = os.path.join(os.path.abspath(build), "language-images")
        for version in roots.PYTHONS:
            yield "python", version, lambda v=version: roots.python_root(folder, v)
        for version in roots.NODES:
            yield "javascript", version, lambda v=version: roots.node_root(folder, v)

    def table(self, build):
        return "".join(f'[languages.{name}.versions."{version}"]\nimage = "test/{name}:{version}"\n' for name, version, _ in self.images(build))

    def import_images(self, build):
        for name, version, root in self.images(build):
            self.cove("image", "import", root(), f"test/{name}:{version}")

    def cove(self, *words, ok=True, input=None):
        env = {"PATH": os.environ["PATH"], "COVE_HOST": f"unix:{self.server.socket}", "HOME": self.server.folder,
               "COVE_STATE": self.server.state, "COVE_CACHE": self.server.folder + "/cache", "COVE_CONFIG": self.config}
        done = subprocess.run([self.programs + "/cove", *words], env=env, input=input, capture_output=True, text=True)
        if ok and done.returncode != 0:
            raise AssertionError(f"cove {' '.join(words)}: {done.returncode}: {done.stderr}")
        return done

    def execute(self, status=200, **body):
        self.client.close()
        return self.client.expect(status, "POST", "/v1/execute", body).json()

    def sandbox(self, **body):
        self.client.close()
        return Sandbox(self, self.client.expect(201, "POST", "/v1/sandboxes", body).json())

    def end(self):
        self.server.stop()
        self.server.remove()
        shutil.rmtree(self.programs)


class Sandbox:
    def __init__(self, place, info):
        self.place, self.info = place, info
        self.path = "/v1/sandboxes/" + info["id"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.client.close()
        self.place.client.expect((204, 404), "DELETE", self.path)

    def call(self, status, method, path="", body=None, headers=None):
        return self.place.client.expect(status, method, self.path + path, body, headers)

    def run(self, **body):
        return self.call(200, "POST", "/execs?wait=true", body).json()


def equal(ours, theirs):
    if ours != theirs:
        raise AssertionError(f"{ours!r} is not {theirs!r}")


def contains(text, *pieces):
    for piece in pieces:
        if piece not in text:
            raise AssertionError(f"{piece!r} is not in {text!r}")


def eventually(what, patience=30):
    until = time.monotonic() + patience
    while not (found := what()):
        if time.monotonic() > until:
            raise AssertionError("it does not come true")
        time.sleep(0.05)
    return found


# --- versions ----------------------------------------------------------------------------------------------------------

def versions():
    yield from (("python", version) for version in roots.PYTHONS)
    yield from (("javascript", version) for version in roots.NODES)


def test_every_version_prints_its_own(place):
    for name, version in versions():
        result = place.execute(language=f"{name}@{version}", code=VERSIONS[name])
        equal((result["status"], result["phase"], result["stderr"]["text"]), ("success", "run", ""))
        contains("." + result["stdout"]["text"], "." + version + ".")
        equal(result["language"], {"name": name, "version": version, "image": f"test/{name}:{version}", "note": None})


def test_every_version_runs_from_the_command_line(place):
    for route in ("--server", "--direct"):
        for word in ("python@3.10", "py@3.12", "node@18", "js@22"):
            name = "python" if word.startswith("py") else "javascript"
            out = place.cove("run", route, "--lang", word, "-", input=VERSIONS[name]).stdout
            contains("." + out, "." + word.split("@")[1] + ".")


def test_what_the_host_has_prints_its_version(place):
    ready = {each["name"]: each for each in place.client.expect(200, "GET", "/v1/languages").json()["items"]}
    for name in ("bash", "go", "rust", "ruby", "c", "cpp", "java", "perl", "php", "r", "lua"):
        known = next(each for each in ready[name]["versions"] if each["default"] or each["state"] == "absent")
        if known["state"] == "absent":
            if name in REQUIRED:
                raise AssertionError(f"{name} is not on this machine")
            continue
        result = place.execute(language=name, code=VERSIONS[name], limits={"memory": "2g"})
        equal((result["status"], result["phase"], result["stderr"]["text"]), ("success", "run", ""))
        printed = result["stdout"]["text"].strip()
        if not known["version"].startswith(printed):
            raise AssertionError(f"{name} says {printed}, and is said to be {known['version']}")
        equal((result["language"]["name"], result["language"]["image"], result["language"]["version"]), (name, "host", known["version"]))


def test_the_usual_version_needs_no_word(place):
    result = place.execute(language="python", code=VERSIONS["python"])
    contains(result["stdout"]["text"], "3.12.")
    equal(result["language"]["note"], None)
    done = place.cove("run", "--lang", "js", "-", input=VERSIONS["javascript"])
    equal((done.stdout.split(".")[0], done.stderr), ("20", ""))


def test_another_version_is_used_only_where_none_was_asked_for_and_told(place):
    with place.sandbox() as box:
        result = box.run(language="python", code=VERSIONS["python"])
        equal(result["language"]["version"], result["stdout"]["text"].strip())
        if not result["language"]["version"].startswith("3.12"):
            contains(result["language"]["note"], "python 3.12, the usual one, is not here", result["language"]["version"], "host image")
        refused = box.call(404, "POST", "/execs?wait=true", {"language": "python@3.10", "code": ""}).json()
        contains(refused["detail"], "the image host has no python 3.10")
        contains(refused["hint"], "3.10 in the image test/python:3.10", "in the host image")
    done = place.cove("run", "--image", "host", "--lang", "python", "-", input="print(1)")
    equal(done.stdout, "1\n")
    if result["language"]["note"]:
        contains(done.stderr, "cove: python 3.12, the usual one, is not here: it runs with ")
        equal(done.stderr.count("\n"), 1)


def test_a_version_that_is_not_there_is_refused_with_those_that_are(place):
    refused = place.execute(404, language="python@2.7", code="")
    equal(refused["code"], "not_found")
    contains(refused["detail"], "python 2.7 is not to be had here")
    contains(refused["hint"], "3.10 in the image test/python:3.10", "3.12 in the image test/python:3.12")
    contains(place.execute(404, language="missing", code="")["hint"], "1 after cove pull not/there:1")
    contains(place.execute(400, language="pyton", code="")["hint"], "did you mean python?")
    for route in ("--server", "--direct"):
        done = place.cove("run", route, "--lang", "node@16", "-", input="", ok=False)
        equal((done.returncode, done.stdout), (125, ""))
        contains(done.stderr, "javascript 16 is not to be had here", "18 in the image test/javascript:18")
        contains(place.cove("run", route, "--lang", "rubby", "-", input="", ok=False).stderr, "did you mean ruby?")


def test_an_image_that_the_table_does_not_know_has_the_usual_names(place):
    with place.sandbox(image="test/python:3.11") as box:
        contains(box.run(language="python", code=VERSIONS["python"])["stdout"]["text"], "3.11.")
        contains(box.call(404, "POST", "/execs?wait=true", {"language": "typescript", "code": ""}).json()["detail"], "no program that runs typescript")
    place.cove("image", "tag", "test/python:3.11", "other:1")
    out = place.cove("run", "--image", "other:1", "--lang", "python@3.11", "-", input=VERSIONS["python"]).stdout
    contains(out, "3.11.")


def test_typescript_runs_where_node_takes_the_types_out(place):
    with place.sandbox(image="test/javascript:22") as box:
        equal(box.run(language="ts", code="const x: number = 6; console.log(x * 7)")["stdout"]["text"], "42\n")


def test_contexts_have_versions(place):
    with place.sandbox(language="python@3.10") as box:
        context = box.call(201, "POST", "/contexts", {"language": "py@3.10"}).json()
        equal((context["language"], context["version"], context["note"]), ("python@3.10", "3.10", None))
        result = box.run(context=context["id"], code="import sys; sys.version_info[:2]")
        equal(result["results"][0]["formats"]["text"], "(3, 10)")
        box.call(404, "POST", "/contexts", {"language": "python@3.12"})


def test_languages_are_listed(place):
    lines = place.cove("languages").stdout.splitlines()
    contains("\n".join(lines), "test/python:3.10", "cove pull not/there:1")
    if not any(re.match(r"python +3\.12 \* +ready +test/python:3\.12", line) for line in lines):
        raise AssertionError("\n".join(lines))
    listed = {each["name"]: each for each in json.loads(place.cove("languages", "--json").stdout)}
    equal((listed["python"]["default"], listed["javascript"]["default"]), ("3.12", "20"))
    bash = listed["bash"]["versions"][0]
    equal((bash["state"], bash["image"], bash["default"], bash["command"]), ("ready", "host", True, ["bash", "{file}"]))
    contains(bash["path"], "/bash")
    settings = place.cove("config", "show").stdout
    contains(settings, "languages.python.versions.3.10", "test/python:3.10: python3 {file}", "cove.toml:1")


# --- compiling ---------------------------------------------------------------------------------------------------------

# Of the others, those that are on this machine.
REQUIRED = {"bash", "go", "rust", "ruby", "c", "cpp", "python", "javascript"}


def installed(place, names):
    listed = place.client.expect(200, "GET", "/v1/languages").json()["items"]
    ready = {each["name"] for each in listed if any(one["state"] == "ready" for one in each["versions"])}
    if not REQUIRED <= ready:
        raise AssertionError(f"not here: {REQUIRED - ready}")
    return [name for name in names if name in ready]


def test_what_does_not_compile_is_told_apart(place):
    for name in installed(place, BROKEN):
        result = place.execute(language=name, code=BROKEN[name], stdin="for the program", limits={"memory": "2g"})
        equal((result["status"], result["phase"]), ("error", "compile"))
        if result["exit_code"] in (0, None) or result["stdout"]["text"] and name != "go":
            raise AssertionError(result)
        contains(result["stderr"]["text"], "undeclared_name")
        contains(result["why"], "compilation failed")


def test_a_program_that_fails_has_run(place):
    for name in installed(place, FAILING):
        result = place.execute(language=name, code=FAILING[name], stdin="its input\n", args=["one", "two"][-1:], limits={"memory": "2g"})
        equal((result["status"], result["phase"], result["exit_code"], result["stdout"]["text"], result["stderr"]["text"]),
              ("error", "run", 3, "two its input\n", ""))


def test_an_error_of_a_program_is_the_programs(place):
    for name in installed(place, RAISING):
        result = place.execute(language=name, code=RAISING[name], limits={"memory": "2g"})
        equal((result["status"], result["phase"]), ("error", "run"))
        contains(result["stderr"]["text"] + result["stdout"]["text"], "went wrong")  # PHP tells where its settings say
        if not result["exit_code"]:
            raise AssertionError(f"{name}: {result}")


def test_a_class_is_started_by_its_own_name_whatever_its_file_is_called(place):
    if not installed(place, ["java"]):
        return
    path = place_file(place, "other.java", PACKAGED)
    for route in ("--server", "--direct"):
        equal(place.cove("run", route, "--lang", "java", path).stdout, "packaged\n")
        equal(place.cove("run", route, "--lang", "java", "-", input=PACKAGED).stdout, "packaged\n")


def test_compiled_code_runs_from_the_command_line(place):
    for route in ("--server", "--direct"):
        done = place.cove("run", route, "--lang", "c", place_file(place, "x.c", FAILING["c"]), "an argument", input="typed\n", ok=False)
        equal((done.returncode, done.stdout, done.stderr), (3, "an argument typed\n", ""))
        done = place.cove("run", route, "--json", "--lang", "c++", "-", input=BROKEN["cpp"], ok=False)
        result = json.loads(done.stdout)
        equal((done.returncode, result["exit_code"], result["phase"]), (1, 1, "compile"))
        contains(result["stderr"]["text"], "/home/user/main.cpp:1:", "undeclared_name")
        done = place.cove("run", route, "--lang", "slow", "-", input="# compile 0; exit 5\n", ok=False)
        equal((done.returncode, done.stdout), (5, ""))


def place_file(place, name, text):
    path = place.server.folder + "/" + name
    with open(path, "w") as file:
        file.write(text)
    return path


def test_the_clock_runs_through_both(place):
    result = place.execute(language="slow", code="# compile 60\n", timeout="300ms")
    equal((result["status"], result["phase"]), ("timeout", "compile"))
    result = place.execute(language="slow", code="#!/bin/sh\n# compile 0.1\nsleep 60\n", timeout="700ms")
    equal((result["status"], result["phase"]), ("timeout", "run"))
    for route in ("--server", "--direct"):
        done = place.cove("run", route, "--timeout", "300ms", "--lang", "slow", "-", input="# compile 60\n", ok=False)
        equal(done.returncode, 124)


def test_use_is_counted_through_both(place):
    busy = "#!/bin/sh\n# compile 0; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done\n"
    used = place.execute(language="slow", code=busy)["usage"]
    if used["cpu_user_ms"] + used["cpu_system_ms"] < 60:
        raise AssertionError(used)


def test_an_exec_that_is_killed_while_it_compiles_never_runs(place):
    with place.sandbox() as box:
        exec_id = box.call(201, "POST", "/execs", {"language": "slow", "code": "#!/bin/sh\n# compile 60\ntouch /tmp/ran\n"}).json()["id"]
        result = box.call(200, "DELETE", f"/execs/{exec_id}").json()
        equal((result["status"], result["phase"]), ("killed", "compile"))
        equal(box.run(shell="ls /tmp/ran")["exit_code"], 2)


def test_streams_tell_the_phase(place):
    with place.sandbox() as box:
        text = box.call(200, "POST", "/execs", {"language": "c", "code": BROKEN["c"]}, {"Accept": "text/event-stream"}).data.decode()
        last = json.loads(text.strip().rsplit("data:", 1)[1])
        equal(last["result"]["phase"], "compile")
        contains(text, "event: stderr", "undeclared_name")


def test_a_terminal_is_the_programs(place):
    code = '#include <stdio.h>\n#include <unistd.h>\nint main(void) { printf("%d%d%d %d\\n", isatty(0), isatty(1), isatty(2), tcgetpgrp(0) == getpgrp()); }\n'
    with place.sandbox() as box:
        equal(box.run(language="c", code=code, pty={"rows": 24, "cols": 80})["stdout"]["text"], "111 1\r\n")


def test_an_exec_goes_on_from_its_compiler_to_its_program_without_the_server(place):
    code = "#!/bin/sh\n# compile 1.5371\ncat; echo ran\n"
    with place.sandbox() as box:
        exec_id = box.call(201, "POST", "/execs", {"language": "slow", "code": code, "stdin": "kept ", "detach": True}).json()["id"]
        place.server.kill("both")
        eventually(lambda: not running("sleep", "1.5371"))  # the compiler has ended, and nobody is there
        place.server.start()
        place.client.close()
        result = eventually(lambda: box.call(200, "GET", f"/execs/{exec_id}").json()["result"])
        equal((result["status"], result["phase"], result["stdout"]["text"]), ("success", "run", "kept ran\n"))
        equal(result["language"]["name"], "slow")


def running(*words):
    line = b"".join(word.encode() + b"\0" for word in words)
    return any(servers.read(f"/proc/{pid}/cmdline") == line for pid in os.listdir("/proc") if pid.isdigit())


def test_nothing_is_kept_between_sandboxes(place):
    first = place.execute(language="go", code=VERSIONS["go"], limits={"memory": "2g"})
    second = place.execute(language="bash", code="ls /tmp/cove-* ~/.cache 2>/dev/null | grep -v $0")
    equal((first["status"], second["stdout"]["text"]), ("success", ""))


def main():
    place = Place(sys.argv[1])
    wanted = sys.argv[2:]
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (wanted and not any(word in name for word in wanted)):
            continue
        start = time.monotonic()
        try:
            test(place)
            passed += 1
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
        if os.environ.get("COVE_TEST_TIMES"):
            print(f"{name} {time.monotonic() - start:.1f} s", flush=True)
    if failed:
        print(servers.read(place.server.log).decode(errors="replace")[-2000:])
    place.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
