"""Runs all cases with all kernels, and counts."""

import importlib
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

MODULES = {"IPython": "python3-ipython", "matplotlib": "python3-matplotlib", "pandas": "python3-pandas", "PIL": "python3-pil"}


def missing():
    """Packages without which nothing is tested; this is a failure, not a reason to leave tests out."""
    packages = []
    for module, package in MODULES.items():
        try:
            importlib.import_module(module)
        except ImportError:
            packages.append(package)
    return packages + ([] if shutil.which("node") else ["nodejs"])


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    def run(self, name, what):
        """One test, which returns or raises its complaints."""
        start = time.monotonic()
        try:
            wrong = what() or []
        except Exception as error:  # whatever it was, it is the finding
            wrong = [f"{type(error).__name__}: {error}"]
        self.count(name, wrong, time.monotonic() - start)

    def count(self, name, wrong, seconds):
        if wrong:
            self.failed += 1
        else:
            self.passed += 1
        print(f"  {'FAIL' if wrong else 'ok  '}  {name} ({seconds:.1f} s)", flush=True)
        for line in wrong[:12]:
            print("        " + line.replace("\n", "\n        "), flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def run_steps(steps, subject):
    import check

    wrong = []
    for number, step in enumerate(steps, 1):
        outcome = subject.execute(step.code, step.interrupt_after)
        wrong += [f"step {number}: {text}" for text in check.differences(step, outcome)]
        for kind, text in (("stdout", step.late_stdout), ("stderr", step.late_stderr)):
            if text is not None:
                wrong += check.text_differs(f"step {number}: late {kind}", text, subject.read_late(kind, text))
        if outcome.ended:
            break
    return wrong


def closing(what, subject):
    try:
        return what(subject)
    finally:
        subject.close()


def run_with_kernels(tally, title, tests, make_kernel):
    """Tests are names with functions of a kernel. The next kernel starts while a test is run."""
    print(f"== {title}", flush=True)
    with ThreadPoolExecutor(1) as starter:
        following = starter.submit(make_kernel) if tests else None
        for number, (name, what) in enumerate(tests, 1):
            subject = following.result()
            following = starter.submit(make_kernel) if number < len(tests) else None
            tally.run(name, lambda: closing(what, subject))


def run_with_folders(tally, title, tests):
    print(f"== {title}", flush=True)
    for name, what in tests:
        with tempfile.TemporaryDirectory(prefix="cove-results-") as folder:
            tally.run(name, lambda: what(folder))


def tests_of_cases(cases, engine=""):
    return [(case.name, lambda subject, case=case: run_steps(case.steps, subject)) for case in cases if case.engine in ("", engine)]


def tests_of_channel(channel, words):
    return [(f"channel: {name_of(test)}", lambda subject, test=test: test(subject, words)) for test in channel.TESTS]


def name_of(function):
    return function.__name__.replace("_", " ")


def chosen(tests, text):
    return [test for test in tests if text in test[0]]


def run_all(tally, text):
    import backend_test
    import cases_javascript
    import cases_python
    import channel_test
    import kernel

    for engine in ("ipython", "builtin"):
        tests = tests_of_cases(cases_python.CASES, engine) + tests_of_channel(channel_test, channel_test.PYTHON)
        run_with_kernels(tally, f"Python, {engine}", chosen(tests, text), lambda: kernel.python_kernel(engine))
    tests = tests_of_cases(cases_javascript.CASES) + tests_of_channel(channel_test, channel_test.JAVASCRIPT)
    run_with_kernels(tally, "JavaScript", chosen(tests, text), kernel.javascript_kernel)
    tests = [(f"backend: {name_of(test)}", test) for test in backend_test.TESTS]
    run_with_folders(tally, "matplotlib backend for scripts", chosen(tests, text))


def main(arguments):
    packages = missing()
    if packages:
        print(f"tests/contexts: these Debian packages are needed: {' '.join(packages)}")
        print("0 passed, 1 failed")
        return 1
    tally = Tally()
    run_all(tally, arguments[0] if arguments else "")
    return tally.end()
