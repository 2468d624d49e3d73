"""What a case is made of: steps of code, and what each is to give. No runner is known here, so that the same cases
can be driven through a kernel's channel or through the server."""

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple


class Like:
    """A text in which the pattern is found. Expectations without it are the exact text."""

    def __init__(self, *patterns, lacks=()):
        self.patterns = patterns
        self.lacks = (lacks,) if isinstance(lacks, str) else lacks

    def complaint(self, text):
        for pattern in self.patterns:
            if not re.search(pattern, text, re.MULTILINE):
                return f"{shortened(text)} has nothing like {pattern!r}"
        for pattern in self.lacks:
            if re.search(pattern, text, re.MULTILINE):
                return f"{shortened(text)} has something like {pattern!r}"
        return None


class Sized:
    """A text of so many characters, all of which are among some."""

    def __init__(self, size, characters):
        self.size = size
        self.characters = set(characters)

    def complaint(self, text):
        if len(text) != self.size:
            return f"{len(text)} characters, not {self.size}"
        strangers = set(text) - self.characters
        return f"has {strangers}" if strangers else None


class Picture:
    """An image, base64, with the pixels that this code draws: a figure as `figure`, or an image as `image`."""

    def __init__(self, code):
        self.code = code


@dataclass
class Error:
    name: str
    value: Any = ""
    traceback: Any = Like("")


@dataclass
class Step:
    code: str
    stdout: Any = ""
    stderr: Any = ""
    value: Any = None  # the text of the main result; None: there is none
    formats: Dict[str, Any] = field(default_factory=dict)  # further formats of the main result
    no_formats: Tuple[str, ...] = ()  # which the main result lacks
    displays: Optional[List[Dict[str, Any]]] = field(default_factory=list)  # the other results; None: any
    error: Optional[Error] = None
    status: str = ""  # "": ok, or error where one is expected
    order: Optional[List[str]] = None  # of stdout (its text), "<value>", "<display>", "<update>", "<clear>" and "<error>"
    interrupt_after: Optional[str] = None  # SIGINT when stdout has this
    late_stdout: Optional[str] = None  # comes after the end of the execution
    late_stderr: Optional[str] = None
    ends: bool = False  # the kernel's process ends in it

    def expected_status(self):
        return self.status or ("error" if self.error else "ok")


@dataclass
class Case:
    name: str
    steps: List[Step]
    engine: str = ""  # "": every one


def shortened(text):
    text = repr(text)
    return text if len(text) < 400 else f"{text[:200]} … {text[-200:]}"
