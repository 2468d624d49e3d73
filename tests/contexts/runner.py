"""Runs tests in two worker processes, and counts. A test is a name and a function of a painter that returns, or raises,
its complaints."""

import importlib
import json
import os
import shutil
import signal
import struct
import sys
import time

WORKERS = 2
MOST_AGAIN = 300  # characters of a complaint that is told again
MODULES = {"IPython": "python3-ipython", "matplotlib": "python3-matplotlib", "pandas": "python3-pandas", "PIL": "python3-pil"}


def missing():
    """Packages without which nothing is tested; this is a failure, not a reason to leave tests out."""
    packages = []
    for module, package in MODULES.items():
        if importlib.util.find_spec(module) is None:
            packages.append(package)
    return packages + ([] if shutil.which("node") else ["nodejs"])


class Worker:
    """A process that takes the numbers of tests from one pipe, and tells of them on another."""

    def __init__(self, tests, numbers, writer):
        self.results, results = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(writer)  # else the numbers would have no end
                work(tests, numbers, results)
                status = 0
            finally:
                sys.stdout.flush()
                os._exit(status)
        os.close(results)
        self.results = os.fdopen(self.results)


def work(tests, numbers, results):
    import kernel
    import painter
    import process

    process.adopt_orphans()
    kernel.preload()
    painter = painter.Painter()
    while number := os.read(numbers, 4):
        name, test = tests[struct.unpack("i", number)[0]]
        start = time.monotonic()
        wrong = complaints_of(test, painter)
        process.end_children(spared=(painter.pid,))
        result = {"name": name, "wrong": wrong, "seconds": time.monotonic() - start}
        os.write(results, json.dumps(result).encode() + b"\n")
    painter.close()


def complaints_of(test, painter):
    try:
        return [str(text)[:2000] for text in (test(painter) or [])[:12]]
    except Exception as error:  # whatever it was, it is the finding
        return [f"{type(error).__name__}: {error}"[:2000]]


def run(tests):
    """Returns how many passed and failed. Those that failed are told again at the end, which is what a cut log keeps."""
    reader, writer = os.pipe()
    workers = [Worker(tests, reader, writer) for _ in range(WORKERS)]
    os.close(reader)
    if os.fork() == 0:
        for number in range(len(tests)):
            os.write(writer, struct.pack("i", number))
        os._exit(0)
    os.close(writer)
    results = show_results(workers)
    untold = [name for name, _ in tests if name not in {result["name"] for result in results}]
    results += [{"name": name, "wrong": ["no worker told of it"]} for name in untold]
    failed = [result for result in results if result["wrong"]]
    show_again(failed)
    return len(results) - len(failed), len(failed)


def show_results(workers):
    """As they come."""
    import select

    results = []
    files = {worker.results.fileno(): worker.results for worker in workers}
    while files:
        for descriptor in select.select(list(files), [], [])[0]:
            line = files[descriptor].readline()
            if not line:
                del files[descriptor]
                continue
            results.append(json.loads(line))
            show(results[-1])
    return results


def show(result):
    print(f"  {'FAIL' if result['wrong'] else 'ok  '}  {result['name']} ({result['seconds']:.1f} s)", flush=True)
    for text in result["wrong"]:
        print("        " + text.replace("\n", "\n        "), flush=True)


def show_again(failed):
    """A line for each complaint."""
    for result in failed:
        for text in result["wrong"]:
            print(f"failed: {result['name']}: {' '.join(text.split())[:MOST_AGAIN]}", flush=True)


# --- tests of steps ---------------------------------------------------------------------------------------------------


def run_steps(steps, subject, painter):
    import check

    wrong = []
    for number, step in enumerate(steps, 1):
        outcome = subject.execute(step.code, step.interrupt_after)
        wrong += [f"step {number}: {text}" for text in check.differences(step, outcome, painter)]
        for kind, text in (("stdout", step.late_stdout), ("stderr", step.late_stderr)):
            if text is not None:
                wrong += check.text_differs(f"step {number}: late {kind}", text, subject.read_late(kind, text))
        if outcome.ended:
            break
    return wrong


def with_subject(make, what):
    """`what` is called with a subject, which is closed afterwards and may have no complaints of its own."""

    def test(painter):
        subject = make()
        try:
            wrong = what(subject, painter) or []
        finally:
            subject.close()
        complaints = subject.complaints()
        return wrong + ([f"it wrote to its own stderr: {complaints}"] if complaints else [])

    return test


def tests_of_cases(title, cases, make, engine=""):
    return [
        (f"{title}: {case.name}", with_subject(make, lambda subject, painter, case=case: run_steps(case.steps, subject, painter)))
        for case in cases
        if case.engine in ("", engine)
    ]


def name_of(function):
    return function.__name__.replace("_", " ")
