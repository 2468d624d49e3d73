"""What became of a program, and how two of them differ."""

import dataclasses
import difflib
import re

LONGEST_DIFF = 60  # lines
LONGEST_LINE = 300  # characters

MASKS = {
    "address": r"0x[0-9a-f]{8,16}",
    "node process": r"(?<=\(node:)\d+(?=\))",
    "seconds": r"\b\d+\.\d+(?=m?s\b)",
}


@dataclasses.dataclass
class Outcome:
    status: str
    exit: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes

    def end(self):
        return f"{self.status}, " + (f"signal {self.signal}" if self.signal else f"exit code {self.exit}")


def status_of(exit_code, signal):
    """As an ExecResult has it, of a program that nobody disturbed."""
    return "killed" if signal else "success" if exit_code == 0 else "error"


def masked(case, data, ids):
    """The id of the program's own file is another one in every run; it is as long in each. So is the sandbox's in its address."""
    for id in ids:
        data = data.replace(id.encode(), b"X" * len(id))
    data = re.sub(rb"http://\{port\}-[a-z0-9]{20}\.localhost:\d+/", b"<preview>", data)
    for mask in case.mask:
        data = re.sub(MASKS.get(mask, mask).encode(), b"<masked>", data)
    return data


def unexpected(case, outcome):
    """What is wrong with it on its own, by what the manifest says."""
    if case.exit == "any":
        return []
    wrong = []
    if (outcome.exit, outcome.signal) != (case.exit, case.signal):
        expected = f"signal {case.signal}" if case.signal else f"exit code {case.exit}"
        wrong.append(f"ended with {outcome.end()}, expected {expected}")
    stdout, stderr = (stream.decode(errors="replace") for stream in (outcome.stdout, outcome.stderr))
    if case.stdout is not None and case.stdout not in stdout:
        wrong.append(f"stdout has no {case.stdout!r}")
    if case.stderr and case.stderr not in stderr:
        wrong.append(f"stderr has no {case.stderr!r}")
    if not case.stderr and stderr and "stderr" not in case.ignore:
        wrong.append("stderr is not empty")
    if not case.stderr and case.exit == 0 and bool(stdout) == case.is_silent():
        wrong.append("it printed something" if stdout else "it printed nothing")
    return [*wrong, *shown("stdout", stdout), *shown("stderr", stderr)] if wrong else []


def shown(name, text):
    return [f"{name}: {line[:LONGEST_LINE]}" for line in text.splitlines()[-12:]]


def differences(case, first_way, first, way, other):
    """As lines of a report; none where they are equal."""
    found = []
    if first.end() != other.end():
        found.append(f"{first_way} ended with {first.end()}, {way} with {other.end()}")
    for stream in ("stdout", "stderr"):
        before, after = getattr(first, stream), getattr(other, stream)
        if before != after and stream not in case.ignore and not (case.differs and stream == "stdout"):
            found += unified(f"{first_way} {stream}", before, f"{way} {stream}", after)
    return found


def unified(before_name, before, after_name, after):
    lines = difflib.unified_diff(lines_of(before), lines_of(after), before_name, after_name, lineterm="")
    lines = [line[:LONGEST_LINE] for line in lines] or [f"{before_name} and {after_name} differ in bytes that do not print"]
    return lines[:LONGEST_DIFF] + ([f"… and {len(lines) - LONGEST_DIFF} lines more"] if len(lines) > LONGEST_DIFF else [])


def lines_of(data):
    """Line ends are shown where they are not the usual one; bytes that are no text as escapes."""
    text = data.decode(errors="backslashreplace")
    lines = text.split("\n")
    return [line.replace("\r", "\\r") for line in lines[:-1]] + ([lines[-1] + "\\ no newline"] if lines[-1] else [])
