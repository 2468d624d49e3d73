"""A Python interpreter that keeps its state between executions: the inside of a context.

It speaks docs/formats/context-channel.md on the descriptors 0 and 1 that it was started with. The standard library
is all it needs; where IPython can be imported, cells are run by it. For Python 3.8 and newer.

There are two roles. The process that was started is the supervisor: it forwards what is printed, and what its child has
to say. The child is the interpreter, which runs the user's code. So nothing is lost where that ends in whatever way.
"""

import sys

# The folder of this file is one where the user's files may be: none of them is to be taken for a module of the library.
OWN_FILE = (lambda: None).__code__.co_filename
if sys.path and sys.path[0] == OWN_FILE.rpartition("/")[0]:
    del sys.path[0]

import ast
import atexit
import builtins
import codecs
import fcntl
import gc
import importlib.util
import io
import json
import os
import re
import select
import signal
import time
import types
import warnings
import _thread

HIGH_DESCRIPTORS = (700, 100, 20)  # the first that the limit of open files allows
PIPE_BYTES = 1 << 20
READ_BYTES = 1 << 16
OUTPUT_PAUSE = 4  # ms between two looks at a trickle of output, so that few messages carry it
CANCEL_PATIENCE = 2  # seconds for a task to end that was cancelled
EXIT_PATIENCE = 2

# Of one result. A longer text is cut; what is longer in any other format is left out.
MOST_TEXT = 10 << 20  # characters
MOST_PIECES = 100_000  # of the text of a list and the like
MOST_JSON = 1 << 20  # bytes, as those that follow
MOST_FORMAT = 16 << 20
MOST_FORMATS = 28 << 20
DEEPEST_JSON = 50
MOST_COMPARISONS = 40_000_000  # of keys with those before them in their object, which is what a reader may do

FORMATS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/latex": "latex",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "application/json": "json",
    "application/javascript": "javascript",
}
BINARY = ("image/png", "image/jpeg", "application/pdf")
REPRESENTATIONS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_latex_": "text/latex",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_pdf_": "application/pdf",
    "_repr_json_": "application/json",
    "_repr_javascript_": "application/javascript",
}


class StdinNotImplementedError(EOFError, NotImplementedError):
    """input() was called; a context has no one to ask."""


def current_folder():
    """None where it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return None


def import_own(name):
    """A module of the library, when it is first needed, and whatever lies in the current folder."""
    if name not in sys.modules:
        path = list(sys.path)
        sys.path[:] = [folder for folder in path if folder not in ("", current_folder())]
        try:
            importlib.import_module(name)
        finally:
            sys.path[:] = path
    return sys.modules[name]


# --- interrupts ---------------------------------------------------------------------------------------------------


class Interrupts:
    """SIGINT ends the user's code, and nothing else.

    The handler looks at the stack that it came upon. Inside of call() it raises KeyboardInterrupt. Inside of shield(),
    where half a message would be lost, it waits for the end of that. Elsewhere it counts only if a request has come
    whose code has not begun.
    """

    def __init__(self, request_waits):
        self.request_waits = request_waits
        self.executing = False
        self.pending = False
        self.delivered = False
        self.open_code = {Interrupts.call.__code__}

    def install(self):
        """Again before and after each execution: the user's code may have put its own handler there."""
        signal.signal(signal.SIGINT, self.handle)

    def begin(self):
        self.executing = True
        self.delivered = False
        self.install()

    def end(self, others_wait):
        """After the last answer. What came since counts for the next request, unless there was one before the answer."""
        self.executing = False
        self.pending = self.pending and not others_wait and self.request_waits()
        self.install()

    def handle(self, _signal, frame):
        if self.is_open(frame):
            self.interrupt()
        self.pending = self.executing or self.request_waits()

    def call(self, function, *arguments):
        """Runs what may be interrupted."""
        if self.pending:
            self.interrupt()
        return function(*arguments)

    def shield(self, function, *arguments):
        """Runs what may not, and interrupts after it."""
        try:
            return function(*arguments)
        finally:
            if self.pending and self.is_open(sys._getframe().f_back):
                self.interrupt()

    def is_open(self, frame):
        while frame:
            if frame.f_code is Interrupts.shield.__code__:
                return False
            if frame.f_code in self.open_code:
                return True
            frame = frame.f_back
        return False

    def interrupt(self):
        self.pending = False
        self.delivered = True
        raise KeyboardInterrupt


# --- descriptors --------------------------------------------------------------------------------------------------


def move_up(descriptor):
    """A close-on-exec duplicate with a number that programs do not happen to use."""
    for lowest in HIGH_DESCRIPTORS:
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            continue
    raise SystemExit("python_kernel: too few open files are allowed")


def moved_up(descriptors):
    """The same of all, in place of them."""
    moved = [move_up(descriptor) for descriptor in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    return moved


def wait_readable(descriptor, milliseconds):
    """Whether it is, in that time; None: however long that takes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(milliseconds))


def write_fully(descriptor, data):
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody has made it so
            os.set_blocking(descriptor, True)


def json_line(message):
    """A lone surrogate is no valid JSON: it becomes a question mark."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


class Lines:
    """Of what comes in pieces."""

    def __init__(self):
        self.unread = bytearray()
        self._searched = 0

    def add(self, data):
        self.unread += data

    def next(self):
        """Without its end; None if it is not whole."""
        end = self.unread.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self.unread)
            return None
        line = bytes(self.unread[:end])
        del self.unread[: end + 1]
        self._searched = 0
        return line
