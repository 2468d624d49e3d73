"""Runs all cases with all kernels, and counts."""

import importlib
import shutil
import time
from concurrent.futures import ThreadPoolExecutor

import cases_python
import check
import kernel

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

    def count(self, name, wrong, seconds):
        if wrong:
            self.failed += 1
        else:
            self.passed += 1
        print(f"  {'FAIL' if wrong else 'ok  '}  {name} ({seconds:.1f} s)")
        for line in wrong[:12]:
            print("        " + line.replace("\n", "\n        "), flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


def run_steps(steps, subject):
    wrong = []
    for number, step in enumerate(steps, 1):
        outcome = subject.execute(step.code, step.interrupt_after)
        wrong += [f"step {number}: {text}" for text in check.differences(step, outcome)]
        if step.late_stdout is not None:
            wrong += check.text_differs(f"step {number}: late stdout", step.late_stdout, subject.read_late(step.late_stdout))
        if outcome.ended:
            break
    return wrong


def run_case(case, subject):
    try:
        return run_steps(case.steps, subject)
    except Exception as error:  # whatever it was, it is the finding
        return [f"{type(error).__name__}: {error}"]
    finally:
        subject.close()


def run_cases(tally, title, cases, make_kernel):
    """The next kernel starts while a case is run."""
    print(f"== {title}", flush=True)
    with ThreadPoolExecutor(1) as starter:
        following = starter.submit(make_kernel) if cases else None
        for number, case in enumerate(cases, 1):
            subject = following.result()
            following = starter.submit(make_kernel) if number < len(cases) else None
            start = time.monotonic()
            tally.count(case.name, run_case(case, subject), time.monotonic() - start)


def chosen(cases, text):
    return [case for case in cases if text in case.name]


def main(arguments):
    packages = missing()
    if packages:
        print(f"tests/contexts: these Debian packages are needed: {' '.join(packages)}")
        print("0 passed, 1 failed")
        return 1
    text = arguments[0] if arguments else ""
    tally = Tally()
    for engine in ("ipython", "builtin"):
        cases = [case for case in chosen(cases_python.CASES, text) if case.engine in ("", engine)]
        run_cases(tally, f"Python, {engine}", cases, lambda: kernel.python_kernel(engine))
    return tally.end()
