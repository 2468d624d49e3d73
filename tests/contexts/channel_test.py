"""The channel itself, the same for every kernel. Each test gets a kernel that has been started, and its words."""

import json
import os
import select
import signal
import sys
import time

import kernel
import runner

PYTHON = {
    "language": "python",
    "print": "print('x')",
    "sleep": "import time\ntime.sleep(100)",
    "count": "n = globals().get('n', 0) + 1\nn",
    "at_exit": "import atexit\natexit.register(print, 'bye');",
    "flood": "for i in range(20_000): print('0123456789' * 50)",
    "flood_size": 20_000 * 501,
    "endless": "while True: print('x' * 1000)",
}
JAVASCRIPT = {
    "language": "javascript",
    "print": "console.log('x')",
    "sleep": "await new Promise((r) => setTimeout(r, 100000))",
    "count": "var n = (typeof n === 'undefined' ? 0 : n) + 1; n",
    "at_exit": "process.on('exit', () => console.log('bye')), undefined",
    "flood": "for (let i = 0; i < 20_000; i++) console.log('0123456789'.repeat(50))",
    "flood_size": 20_000 * 501,
    "endless": "for (;;) console.log('x'.repeat(1000))",
}


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def says_that_it_is_ready(kernel, words):
    ready = kernel.wait_ready()
    expect(ready["language"] == words["language"], ready)
    expect(all(part.isdigit() for part in ready["version"].split(".")), ready)
    expect(ready["engine"] in ("ipython", "builtin", "node"), ready)
    expect("id" not in ready, ready)


def counts_executions(kernel, words):
    counts = [kernel.execute(words["print"]).count for _ in range(3)]
    expect(counts == [1, 2, 3], counts)


def passes_over_what_it_does_not_understand(kernel, words):
    kernel.wait_ready()
    kernel.send(b'no json\n\n[1]\n5\n{"type":"unknown","id":"u"}\n{}\n\xff\xfe\n')
    expect(kernel.execute(words["print"]).stdout == "x\n", "no answer")


def answers_in_order(kernel, words):
    kernel.wait_ready()
    request = {"type": "execute", "code": words["count"]}
    kernel.send(b"".join(json.dumps({**request, "id": f"q{i}"}).encode() + b"\n" for i in range(20)))
    for i in range(20):
        result, done = kernel.read(), kernel.read()
        expect((result["id"], result["formats"]["text"]) == (f"q{i}", str(i + 1)), result)
        expect((done["type"], done["id"]) == ("done", f"q{i}"), done)


def takes_a_request_in_pieces(kernel, words):
    kernel.wait_ready()
    kernel.requests += 1
    for byte in json.dumps({"id": "r1", "type": "execute", "code": words["print"]}).encode() + b"\n":
        kernel.send(bytes([byte]))
    expect(kernel.outcome().stdout == "x\n", "no answer")


def takes_any_id(kernel, words):
    kernel.wait_ready()
    for id in ("", "ü 🎉\n\"", "x" * 100_000):
        kernel.send(json.dumps({"id": id, "type": "execute", "code": words["print"]}).encode() + b"\n")
        messages = [kernel.read(), kernel.read()]
        expect([message["id"] for message in messages] == [id, id], messages)


def takes_and_gives_many_megabytes(kernel, words):
    text = "ä" * 2_000_000
    outcome = kernel.execute(f"s = '{text}'\ns")
    expect(outcome.mains and outcome.mains[0]["text"] == f"'{text}'", outcome.errors)


def ends_with_its_requests(kernel, words):
    kernel.execute(words["at_exit"])
    kernel.process.stdin.close()
    message = kernel.read()
    expect(message == {"type": "stdout", "id": "r1", "text": "bye\n"}, message)
    expect(kernel.read() is None, "more")
    expect(kernel.process.wait() == 0, kernel.process.returncode)


def ends_after_requests_that_wait(kernel, words):
    kernel.wait_ready()
    kernel.request(words["print"])
    kernel.process.stdin.close()
    expect(kernel.outcome().stdout == "x\n", "not run")
    expect(kernel.process.wait() == 0, kernel.process.returncode)


def ends_when_it_is_told(kernel, words):
    kernel.execute(words["print"])
    kernel.send(b'{"type":"shutdown"}\n')
    expect(kernel.read() is None, "more")
    expect(kernel.process.wait() == 0, kernel.process.returncode)


def ignores_an_interrupt_while_idle(kernel, words):
    kernel.execute(words["count"])
    for i in range(3):
        kernel.interrupt()
        outcome = kernel.execute(words["print"]) if i == 2 else None
    # The last may have come while the request was on its way.
    expect(outcome.status in ("ok", "interrupted"), outcome.status)
    expect(kernel.execute(words["count"]).mains[0]["text"] == "2", "state")


def an_interrupt_right_after_the_request_counts(kernel, words):
    kernel.wait_ready()
    for _ in range(5):
        kernel.request(words["sleep"])
        kernel.interrupt()
        outcome = kernel.outcome()
        expect(outcome.status == "interrupted" and outcome.errors[0]["name"] == "KeyboardInterrupt", outcome.status)
    expect(kernel.execute(words["print"]).stdout == "x\n", "not run")


def only_the_running_one_is_interrupted(kernel, words):
    outcome = None
    kernel.wait_ready()
    kernel.request(words["sleep"])
    kernel.send(json.dumps({"id": "after", "type": "execute", "code": words["print"]}).encode() + b"\n")
    kernel.interrupt()
    outcome = kernel.outcome()
    expect(outcome.status == "interrupted", outcome.status)
    messages = [kernel.read(), kernel.read()]
    expect([m["id"] for m in messages] == ["after", "after"] and messages[1]["status"] == "ok", messages)


def an_interrupt_of_the_group_is_one(kernel, words):
    kernel.wait_ready()
    kernel.request(words["sleep"])
    os.killpg(kernel.process.pid, signal.SIGINT)
    expect(kernel.outcome().status == "interrupted", "not interrupted")
    expect(kernel.execute(words["print"]).stdout == "x\n", "not run")


def waits_for_a_slow_reader(kernel, words):
    """Without keeping its output in memory."""
    kernel.wait_ready()
    kernel.request(words["flood"])
    kernel.read()
    used = []
    for _ in range(30):
        used.append(memory_of(kernel.process.pid))
        time.sleep(0.03)
    outcome = kernel.outcome()
    expect(outcome.status == "ok", outcome.status)
    expect(max(used) - min(used) < 20 << 20, used)


def memory_of(process):
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def ends_when_nobody_listens(kernel, words):
    """While it is idle, and with the next request; without a word on its stderr, which close() looks at."""
    kernel.execute(words["print"])
    kernel.process.stdout.close()
    kernel.request(words["print"])
    expect(kernel.process.wait() == 1, kernel.process.returncode)


def ends_when_nobody_listens_to_a_flood(kernel, words):
    kernel.wait_ready()
    kernel.request(words["endless"])
    kernel.read()
    kernel.process.stdout.close()
    expect(kernel.process.wait() == 1, kernel.process.returncode)


def loses_nothing_of_a_flood(kernel, words):
    outcome = kernel.execute(words["flood"])
    expect(len(outcome.stdout) == words["flood_size"], len(outcome.stdout))


# --- of Python only -----------------------------------------------------------------------------------------------


def files_of_the_user(engine, beside_the_kernel):
    """A kernel that finds a module for every name of the library in its current folder, or beside itself."""
    kernel_ = kernel.stopped_python(engine, beside_the_kernel)
    os.waitpid(kernel_.process.pid, os.WUNTRACED)
    names = [name for name in sys.stdlib_module_names if not name.startswith("_") and name not in sys.builtin_module_names]
    for name in names:
        with open(f"{kernel_.folder}/{name}.py", "w") as file:
            file.write(f"import os\nos.write(2, b'the user has a {name}\\n')\nraise SystemExit(5)\n")
    with open(f"{kernel_.folder}/mine.py", "w") as file:
        file.write("answer = 42\n")
    kernel_.process.send_signal(signal.SIGCONT)
    return kernel_


def is_not_led_astray_by_the_users_files(kernel, _words):
    expect(kernel.execute("1 + 1").mains == [{"text": "2"}], "no value")
    expect(kernel.execute("1 / 0").errors[0]["name"] == "ZeroDivisionError", "no error")
    outcome = kernel.execute("import os\nn = os.system('echo x')")
    expect((outcome.stdout, outcome.stderr) == ("x\n", ""), outcome.stderr)
    expect(kernel.execute("class P:\n    def _repr_png_(self): return b'png'\nP()").mains[0]["png"] == "cG5n", "no picture")
    expect(kernel.execute("[1, {'a': 2}]").mains[0]["json"] == [1, {"a": 2}], "no JSON")


def still_finds_the_users_own(kernel, _words):
    outcome = kernel.execute("import mine\nmine.answer")
    expect(outcome.mains == [{"text": "42"}], outcome.errors)


def ends_as_its_interpreter(kernel, _words):
    outcome = kernel.execute("import os, signal\nprint('x')\nos.kill(os.getpid(), signal.SIGTERM)")
    expect(outcome.ended and outcome.stdout == "x\n", outcome.stdout)
    expect(kernel.process.wait() == -signal.SIGTERM, kernel.process.returncode)


def its_interpreter_ends_with_it(kernel, _words):
    pid = int(kernel.execute("import os\nos.getpid()").mains[0]["text"])
    kernel.request("while True: pass")
    descriptor = os.pidfd_open(pid)
    kernel.process.send_signal(signal.SIGKILL)
    expect(select.select([descriptor], [], [], 10)[0], "it has not ended")
    os.close(descriptor)


def of_python(title, engine):
    found = []
    for place, beside in (("in the current folder", False), ("beside the kernel", True)):
        for test in (is_not_led_astray_by_the_users_files, *(() if beside else (still_finds_the_users_own,))):
            found.append((f"{title}, channel: {runner.name_of(test)}, {place}", lambda beside=beside: files_of_the_user(engine, beside), test))
    for test in (ends_as_its_interpreter, its_interpreter_ends_with_it):
        found.append((f"{title}, channel: {runner.name_of(test)}", lambda: kernel.spawned_python(engine), test))
    return [(name, runner.with_subject(make, lambda subject, _painter, test=test: test(subject, None))) for name, make, test in found]


TESTS = [
    says_that_it_is_ready,
    counts_executions,
    passes_over_what_it_does_not_understand,
    answers_in_order,
    takes_a_request_in_pieces,
    takes_any_id,
    takes_and_gives_many_megabytes,
    ends_with_its_requests,
    ends_after_requests_that_wait,
    ends_when_it_is_told,
    ignores_an_interrupt_while_idle,
    an_interrupt_right_after_the_request_counts,
    only_the_running_one_is_interrupted,
    an_interrupt_of_the_group_is_one,
    waits_for_a_slow_reader,
    ends_when_nobody_listens,
    ends_when_nobody_listens_to_a_flood,
    loses_nothing_of_a_flood,
]


def tests(title, words, make):
    return [
        (f"{title}, channel: {runner.name_of(test)}", runner.with_subject(make, lambda subject, _painter, test=test: test(subject, words)))
        for test in TESTS
    ]
