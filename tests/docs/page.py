"""Pages of the manual: their examples and their links. Nothing here runs anything."""

import dataclasses
import pathlib
import re

ANY = "…"  # in expected output: any text within a line, or none; alone on a line: any lines, or none
SHELLS = ("sh", "bash")
FENCE = re.compile(r"^ *(```+)(.*)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")


class Malformed(Exception):
    """The page itself is wrong."""


@dataclasses.dataclass
class Step:
    """One thing to do: a command with the output it must have, or a script that must succeed."""

    line: int
    command: str
    expected: str | None = None


@dataclasses.dataclass
class File:
    """A block that is saved under a name before the next step runs: ```python hello.py"""

    line: int
    name: str
    text: str


def read_steps(path):
    """The examples of a page, in order."""
    steps = []
    for line, info, lines in blocks(pathlib.Path(path).read_text()):
        tag, _, name = info.partition(" ")
        if tag == "text":
            continue
        if tag == "console":
            steps += list(console_steps(line, lines))
        elif tag in SHELLS:
            steps.append(Step(line, "\n".join(lines)))
        elif tag and name:
            steps.append(File(line, name, "\n".join(lines) + "\n"))
        else:
            raise Malformed(f"line {line}: a block is console, sh, bash or text, or has a file name: ```python hello.py")
    return steps


def blocks(text):
    """Line number, info string and lines of each fenced block."""
    fence, info, start, lines = None, "", 0, []
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line)
        if fence is None and match:
            fence, info, start, lines = match[1], match[2].strip(), number, []
        elif fence is not None and match and match[1] == fence and not match[2].strip():
            yield start, info, lines
            fence = None
        elif fence is not None:
            lines.append(line)
    if fence is not None:
        raise Malformed(f"line {start}: the block has no end")


def console_steps(first, lines):
    """`$ ` begins a command, which goes on after a backslash and in lines that begin with `> `."""
    step, output = None, []
    for number, line in enumerate(lines, first + 1):
        if line.startswith("$ "):
            if step:
                yield dataclasses.replace(step, expected="\n".join(output))
            step, output = Step(number, line[2:]), []
        elif step is None:
            raise Malformed(f"line {number}: output without a command")
        elif not output and (line.startswith("> ") or line == ">"):
            step.command += "\n" + line[2:]
        elif not output and step.command.endswith("\\"):
            step.command += "\n" + line
        else:
            output.append(line)
    if step:
        yield dataclasses.replace(step, expected="\n".join(output))


def matches(expected, actual):
    """Runs of blanks count as one: the widths of columns differ."""
    pattern = "".join(line_pattern(line) for line in normal_lines(expected))
    return re.fullmatch(pattern, "".join(line + "\n" for line in normal_lines(actual))) is not None


def line_pattern(line):
    if line == ANY:
        return r"(?:.*\n)*?"
    return ".*?".join(re.escape(part) for part in line.split(ANY)) + r"\n"


def normal_lines(text):
    return [" ".join(line.split()) for line in text.strip().splitlines()]


def broken_links(path):
    """Relative links of a page that lead to no file or no heading."""
    path = pathlib.Path(path)
    for target in LINK.findall(without_code(path.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            yield target


def anchors(text):
    """Of headings, as GitHub makes them."""
    found = re.findall(r"^#+ +(.*)$", without_code(text, keep_inline=True), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def without_code(text, keep_inline=False):
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S)
    return text if keep_inline else re.sub(r"`[^`\n]*`", "", text)
