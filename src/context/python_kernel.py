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
MOST_FORMATS = 40 << 20
DEEPEST_JSON = 50

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


def import_own(name):
    """A module of the library, when it is first needed, and whatever lies in the current folder."""
    if name not in sys.modules:
        path = list(sys.path)
        sys.path[:] = [folder for folder in path if folder not in ("", os.getcwd())]
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


# --- the supervisor -----------------------------------------------------------------------------------------------


class PrintedStream:
    """The pipe that is descriptor 1 or 2 of the interpreter."""

    def __init__(self, name, reader):
        self.name = name
        self.reader = reader
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        os.set_blocking(reader, False)

    def read(self):
        """Texts of what is in the pipe now, and not of what is written to it meanwhile."""
        count = 0
        while count < PIPE_BYTES:
            try:
                data = os.read(self.reader, READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                return
            count += len(data)
            text = self._decoder.decode(data)
            if text:
                yield text

    def rest(self):
        """Of a character that was not completed."""
        text = self._decoder.decode(b"", True)
        self._decoder.reset()
        return text


class Supervisor:
    """Has the channel's answers. The interpreter speaks to it in lines: an answer goes on as it is, after all that was
    printed before it. The line `id "…"` names the request that follows. Each is acknowledged by one byte."""

    def __init__(self, child, events, acknowledgements, streams):
        self.child = child
        self.events = events
        self.acknowledgements = acknowledgements
        self.streams = streams
        self.id = ""
        self.status = None  # of the child, when it has ended
        self._lines = Lines()
        os.set_blocking(events, False)
        self._woken, waker = moved_up(os.pipe())
        os.set_blocking(waker, False)
        os.set_blocking(self._woken, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_):
        """It is meant for the child, which has a group of its own."""
        if self.status is None:
            os.kill(self.child, signal.SIGINT)

    def run(self):
        quiet = self._poll([])
        all = self._poll([stream.reader for stream in self.streams])
        while self.status is None:
            self._look(all.poll())
            if self.status is None and self._forward_printed() < READ_BYTES:
                self._look(quiet.poll(OUTPUT_PAUSE))
        self._take_events()
        self._finish_printed()
        self._end_like_child()

    def _poll(self, descriptors):
        poll = select.poll()
        for descriptor in (self.events, self._woken, *descriptors):
            poll.register(descriptor, select.POLLIN)
        return poll

    def _look(self, ready):
        ready = [descriptor for descriptor, _ in ready]
        if self._woken in ready:
            os.read(self._woken, READ_BYTES)
            self._reap()
        if self.events in ready and self.status is None:
            self._take_events()

    def _reap(self):
        process, status = os.waitpid(self.child, os.WNOHANG)
        if process:
            self.status = status

    def _take_events(self):
        while True:
            try:
                data = os.read(self.events, PIPE_BYTES)
            except BlockingIOError:
                return
            if not data:
                break
            self._lines.add(data)
            line = self._lines.next()
            while line is not None:
                self._take(line)
                line = self._lines.next()
        if self.status is None:
            self._wait_for_end()

    def _wait_for_end(self):
        """It has closed its side: it ends, or the user's code did it, and it is of no use any more."""
        self._finish_printed()
        deadline = time.monotonic() + EXIT_PATIENCE
        while self.status is None and time.monotonic() < deadline:
            wait_readable(self._woken, 100)
            self._forward_printed()
            self._reap()
        if self.status is None:
            self._kill()

    def _take(self, line):
        if line.startswith(b"id "):
            self._forward_printed()  # belongs to the request before
            self.id = json.loads(line[3:].decode("utf-8", "replace"))
        else:
            self._finish_printed() if line.startswith(b'{"type": "done"') else self._forward_printed()
            self._send(line + b"\n")
        try:
            os.write(self.acknowledgements, b".")
        except OSError:
            pass  # it has ended

    def _forward_printed(self):
        count = 0
        for stream in self.streams:
            for text in stream.read():
                self._send_text(stream, text)
                count += len(text)
        return count

    def _finish_printed(self):
        self._forward_printed()
        for stream in self.streams:
            rest = stream.rest()
            if rest:
                self._send_text(stream, rest)

    def _send_text(self, stream, text):
        self._send(json_line({"type": stream.name, "id": self.id, "text": text}))

    def _send(self, data):
        try:
            write_fully(1, data)
        except OSError:  # nobody listens any more, and there is nobody to complain to
            self._kill()
            os._exit(1)

    def _kill(self):
        os.kill(self.child, signal.SIGKILL)
        self.status = os.waitpid(self.child, 0)[1]

    def _end_like_child(self):
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        os._exit(os.WEXITSTATUS(self.status))


def supervise(supervisor):
    """Until the interpreter has ended, and then ends in the same way."""
    gc.disable()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    try:
        supervisor.run()
    finally:
        os._exit(1)


def make_pipe():
    """Its ends, for reading and writing."""
    reader, writer = moved_up(os.pipe())
    try:
        fcntl.fcntl(writer, 1031, PIPE_BYTES)  # F_SETPIPE_SZ
    except OSError:
        pass
    return reader, writer


class SupervisorLink:
    """The interpreter's ends of the pipes between the two."""

    def __init__(self, events, acknowledgements, stdout, stderr):
        self.events = events
        self.acknowledgements = acknowledgements
        self.stdout = stdout
        self.stderr = stderr

    def tell(self, line):
        """Returns when it was heard; False: there is nobody."""
        try:
            write_fully(self.events, line)
            return os.read(self.acknowledgements, 1) != b""
        except OSError:
            return False

    def close(self):
        os.close(self.events)
        os.close(self.acknowledgements)


def split_in_two():
    """Returns in the interpreter; the supervisor goes no further."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until each has its handler
    events, acknowledgements, stdout, stderr = [make_pipe() for _ in range(4)]
    gc.freeze()  # what is loaded stays, and the two share the memory that no collection writes to
    child = os.fork()
    if child:
        for descriptor in (0, events[1], acknowledgements[0], stdout[1], stderr[1]):
            os.close(descriptor)
        streams = [PrintedStream("stdout", stdout[0]), PrintedStream("stderr", stderr[0])]
        supervise(Supervisor(child, events[0], acknowledgements[1], streams))
    for descriptor in (events[0], acknowledgements[1], stdout[0], stderr[0]):
        os.close(descriptor)
    os.setpgid(0, 0)
    return SupervisorLink(events[1], acknowledgements[0], stdout[1], stderr[1])


# --- the channel --------------------------------------------------------------------------------------------------


def end_unheard():
    """Nobody listens any more, and there is nobody to complain to."""
    os._exit(1)


class Channel:
    """Requests come and answers go here, one JSON object per line; the answers by way of the supervisor."""

    def __init__(self, supervisor):
        self.requests = move_up(0)
        self.id = ""
        self.interrupts = None
        self._supervisor = supervisor
        self._lines = Lines()
        self._lock = _thread.allocate_lock()

    def request(self):
        """The next one; None at the end."""
        while True:
            line = self._line()
            if line is None:
                return None
            try:
                request = json.loads(line.decode("utf-8", "replace"))
            except ValueError:
                continue
            if isinstance(request, dict):
                return request

    def _line(self):
        while True:
            line = self._lines.next()
            if line is not None:
                return line
            self._wait()
            data = self._read()
            if not data:
                return None
            self._lines.add(data)

    def _read(self):
        try:
            return os.read(self.requests, READ_BYTES)
        except OSError:  # the user's code has closed it
            return b""

    def _wait(self):
        """Apart from reading: what has been read cannot be found any more by an interrupt that is meant for it."""
        self.interrupts.executing = False
        wait_readable(self.requests, None)
        self.interrupts.executing = True

    def has_request(self):
        return self.has_unread() or wait_readable(self.requests, 0)

    def has_unread(self):
        """Of what was read together with an earlier request."""
        return bool(self._lines.unread)

    def begin(self, id):
        """What was printed until now belongs to the request before."""
        self.id = id
        self._tell(b"id " + json_line(id))

    def send(self, kind, **fields):
        """An answer to the request at hand, or the last one."""
        self.send_message({"type": kind, "id": self.id, **fields})

    def send_message(self, message):
        self._tell(json_line(message))

    def _tell(self, line):
        self.interrupts.shield(self._exchange, line)

    def _exchange(self, line):
        """What is printed after this comes after it."""
        with self._lock:
            if not self._supervisor.tell(line):
                end_unheard()

    def close(self):
        os.close(self.requests)
        self._supervisor.close()


# --- output -------------------------------------------------------------------------------------------------------


class DirectWriter(io.BufferedWriter):
    """Keeps nothing back, so that what child processes print comes in its place; knows of interrupted writes."""

    def write(self, data):
        count = super().write(data)
        self.flush()
        return count

    def close(self):
        """Not by the user's code, nor by the end of something that it has wrapped around this."""
        self.flush()


class KeptFile(io.FileIO):
    """Cannot be closed either."""

    def close(self):
        pass


class OutputFile(io.TextIOWrapper):
    """Stands as sys.stdout and sys.stderr."""

    def __init__(self, descriptor, name):
        raw = KeptFile(descriptor, "w", closefd=False)
        raw.name = name
        super().__init__(DirectWriter(raw), encoding="utf-8", errors="backslashreplace", write_through=True)

    def make(self):
        """Again as it was."""
        if (self.encoding, self.errors, self.write_through) != ("utf-8", "backslashreplace", True):
            self.reconfigure(encoding="utf-8", errors="backslashreplace", newline=None, write_through=True)


builtin_print = print


def print_whole(*values, sep=None, end=None, file=None, flush=False):
    """As print(), with one write: lines of threads and of forks do not mix."""
    if file is None:
        file = sys.stdout
    if type(file) is not OutputFile:
        builtin_print(*values, sep=sep, end=end, file=file, flush=flush)
        return
    text = io.StringIO()
    builtin_print(*values, sep=sep, end=end, file=text)
    file.write(text.getvalue())


def stand_for(function, original):
    """For those who ask it for its name or its description."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(function, name, getattr(original, name))
    function.__wrapped__ = original
    return function


class CapturedStream:
    """Descriptor 1 or 2, which the supervisor reads."""

    def __init__(self, descriptor, name, writer):
        self.descriptor = descriptor
        self.name = name
        self.writer = writer
        os.dup2(self.writer, descriptor)
        self._put_file()

    def _put_file(self):
        self.file = OutputFile(self.descriptor, "<%s>" % self.name)
        self._show_file()

    def _show_file(self):
        setattr(sys, self.name, self.file)
        setattr(sys, "__%s__" % self.name, self.file)

    def flush(self):
        """Of whatever stands as sys.stdout."""
        try:
            getattr(sys, self.name).flush()
        except KeyboardInterrupt:
            raise
        except BaseException:  # it is the user's object
            pass

    def repair(self):
        """After the user's code has closed or replaced the descriptor, or detached, changed or replaced the file."""
        if not self._is_ours():
            os.dup2(self.writer, self.descriptor)
        os.set_blocking(self.writer, True)
        self._show_file() if self._is_usable() else self._put_file()

    def _is_usable(self):
        try:
            self.file.make()
            return not self.file.closed
        except (ValueError, OSError):  # detached
            return False

    def _is_ours(self):
        try:
            return os.path.sameopenfile(self.descriptor, self.writer)
        except OSError:
            return False


class Output:
    """What the user's code and its children print."""

    def __init__(self, supervisor):
        self.streams = (CapturedStream(1, "stdout", supervisor.stdout), CapturedStream(2, "stderr", supervisor.stderr))
        self._flush_c = lambda: None

    def flush(self):
        """Whatever was printed until now is in the pipes."""
        for stream in self.streams:
            stream.flush()
        self._flush_c()

    def repair(self):
        for stream in self.streams:
            stream.repair()

    def use_c_library(self):
        """Lines that C code prints come at once, and the rest at the end of the execution. And this process ends with
        its supervisor."""
        try:
            import ctypes

            library = ctypes.CDLL(None)
            stdout = ctypes.c_void_p.in_dll(library, "stdout")
            line_buffered = 1
            library.setvbuf(stdout, None, line_buffered, ctypes.c_size_t(0))
            self._flush_c = lambda: library.fflush(stdout)
            library.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        except Exception:  # an interpreter without ctypes
            pass


def put_null_on_stdin():
    null = os.open(os.devnull, os.O_RDONLY)
    if null != 0:
        os.dup2(null, 0)
        os.close(null)
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8", errors="replace")


def repair_stdin():
    """After the user's code has closed it."""
    try:
        os.fstat(0)
        closed = sys.stdin is None or sys.stdin.closed
    except (OSError, AttributeError):
        closed = True
    if closed:
        put_null_on_stdin()


# --- results ------------------------------------------------------------------------------------------------------


def base64_of(data):
    """Of bytes; a text is already encoded."""
    if isinstance(data, str):
        return "".join(data.split())
    return import_own("base64").b64encode(data).decode("ascii")


class TooMuch(Exception):
    """Of a value that is described."""


class Allowance:
    """Of bytes of JSON. Counts them before they are made, and refuses what the other side does not take."""

    def __init__(self, bytes):
        self.left = bytes

    def take(self, value, depth=0):
        """Raises TooMuch, or TypeError for what is no JSON."""
        if isinstance(value, str):
            self._pay(len(value) + 3)
        elif isinstance(value, int):  # a bool, too
            self._pay_whole(value)
        elif isinstance(value, float):
            self._pay_number(value)
        elif value is None:
            self._pay(5)
        elif isinstance(value, (list, tuple, dict)):
            self._take_all(value, depth + 1)
        else:
            raise TypeError

    def _take_all(self, value, depth):
        if depth > DEEPEST_JSON or 2 * len(value) > self.left:
            raise TooMuch
        self._pay(3)
        if isinstance(value, dict):
            for key, one in value.items():
                if isinstance(key, (list, tuple, dict)):
                    raise TypeError
                self.take(key)
                self.take(one, depth)
        else:
            for one in value:
                self.take(one, depth)

    def _pay_whole(self, number):
        if not -(1 << 63) <= number < 1 << 64:
            raise TooMuch
        self._pay(len(str(int(number))) + 1)

    def _pay_number(self, number):
        if number - number != 0:  # infinite, or none
            raise TooMuch
        self._pay(20)

    def _pay(self, bytes):
        self.left -= bytes
        if self.left < 0:
            raise TooMuch


def is_json(value, most):
    try:
        Allowance(most).take(value)
        return True
    except (TypeError, ValueError, TooMuch):
        return False


def bytes_of(data):
    """In a message."""
    return len(json_line(data)) if not isinstance(data, str) or len(data) > 1 << 16 else 6 * len(data)


def cut(text, most=MOST_TEXT):
    """A text, with a word on what is missing of it."""
    while bytes_of(text[:most]) > MOST_FORMAT:
        most = min(most, len(text)) // 2
    more = len(text) - most
    return text if more <= 0 else "%s… (%d characters more)" % (text[:most], more)


def sendable(mime, data):
    """As the channel has it; None where it cannot be sent."""
    if mime in BINARY:
        data = base64_of(data)
    elif isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    if mime == "text/plain":
        return cut(str(data))
    most = MOST_JSON if mime == "application/json" else MOST_FORMAT
    return data if is_json(data, most) and bytes_of(data) <= 2 * most else None


def formats_of_bundle(bundle):
    """A MIME bundle in the words of the channel; what cannot be sent is left out."""
    formats = {}
    left = MOST_FORMATS
    for mime, data in bundle.items():
        data = sendable(mime, data) if isinstance(mime, str) else None
        left -= bytes_of(data)
        if data is None or left < 0:
            continue
        if mime in FORMATS:
            formats[FORMATS[mime]] = data
        else:
            formats.setdefault("extra", {})[mime] = data
    return formats


def with_json(value, bundle):
    """Lists and dictionaries are given as JSON too."""
    if isinstance(value, (dict, list)) and "application/json" not in bundle and is_json(value, MOST_JSON):
        bundle["application/json"] = value
    return bundle


class BoundedText(io.StringIO):
    """Takes the first of what is written to it, in so many pieces at most: each takes its time."""

    def __init__(self):
        super().__init__()
        self.left = MOST_TEXT - 1
        self.pieces = MOST_PIECES

    def write(self, text):
        self.left -= len(text)
        self.pieces -= 1
        if self.left < 0 or self.pieces < 0:
            super().write(text[: min(self.left, 0) or None] + "…")
            raise TooMuch
        return super().write(text)


def text_of_long(value):
    """The representation of a string or bytes that is too long to be shown whole."""
    shown = MOST_TEXT - 100
    return "%s… (%d in all)" % (repr(value[:shown])[:shown], len(value))


def is_long(value):
    return type(value) in (str, bytes, bytearray) and len(value) > MOST_TEXT


BRACKETS = {list: "[]", tuple: "()", set: "{}", frozenset: ("frozenset({", "})"), dict: "{}"}


def write_repr(value, text, around=()):
    """As repr(), piece by piece."""
    kind = type(value)
    if is_long(value):
        text.write(text_of_long(value))
    elif kind not in BRACKETS or not value or len(around) > 200:
        text.write(repr(value))
    elif any(value is one for one in around):
        text.write("%s...%s" % tuple(BRACKETS[kind]))
    else:
        write_repr_of_all(value, text, (*around, value))


def write_repr_of_all(value, text, around):
    first, last = BRACKETS[type(value)]
    text.write(first)
    comma = ""
    for one in value.items() if type(value) is dict else ((one,) for one in value):
        text.write(comma)
        write_repr(one[0], text, around)
        if len(one) > 1:
            text.write(": ")
            write_repr(one[1], text, around)
        comma = ", "
    text.write(",)" if type(value) is tuple and len(value) == 1 else last)


def bounded_repr(value):
    text = BoundedText()
    try:
        write_repr(value, text)
    except TooMuch:
        pass
    return text.getvalue()


def method_of(value, name):
    """A method for display that the object has on purpose: not of a class, not of an object that has any attribute."""
    if isinstance(value, type) or hasattr(value, "_cove_has_no_such_attribute_"):
        return None
    method = getattr(value, name, None)
    return method if callable(method) else None


def represent(method, *arguments, **named):
    """What the method returns; an error in it is told on stderr and costs only this format."""
    try:
        data = method(*arguments, **named)
    except NotImplementedError:
        return None
    except Exception as error:
        print(traceback_of(error), file=sys.stderr, end="")
        return None
    return data[0] if isinstance(data, tuple) else data  # the other is metadata


def bundle_of(value):
    """The formats of an object, for the engine without IPython."""
    text = represent(bounded_repr, value)
    bundle = {} if text is None else {"text/plain": text}
    for name, mime in REPRESENTATIONS.items():
        method = method_of(value, name)
        data = represent(method) if method else None
        if data is not None:
            bundle[mime] = data
    method = method_of(value, "_repr_mimebundle_")
    if method:
        bundle.update(represent(method, include=None, exclude=None) or {})
    if is_figure(value):
        bundle["image/png"] = figure_png(value)
    return bundle


# --- figures ------------------------------------------------------------------------------------------------------


def is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def has_content(figure):
    parts = (figure.axes, figure.lines, figure.patches, figure.texts, figure.images, figure.legends, figure.artists)
    return any(parts) or any(has_content(one) for one in getattr(figure, "subfigs", ()))


def figure_png(figure):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=figure.dpi, facecolor=figure.get_facecolor(), bbox_inches="tight")
    return file.getvalue()


class Figures:
    """Every matplotlib figure that is shown, or open after an execution, becomes a result and is closed."""

    def __init__(self, publish):
        self.publish = publish
        self.given = None  # the figure that was the main result

    def watch(self):
        """Takes over pyplot.show when pyplot is imported."""
        os.environ["MPLBACKEND"] = "Agg"
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """As a finder of modules: lets the others find pyplot, and comes back to it when it is loaded."""
        if name != "matplotlib.pyplot":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)  # it may be loaded again
        if spec is None:
            return None
        load = spec.loader.exec_module

        def load_and_take_over(module):
            load(module)
            self._take_over(module)

        spec.loader.exec_module = load_and_take_over
        return spec

    def _take_over(self, pyplot):
        from matplotlib.backend_bases import FigureManagerBase

        def show(*_arguments, **_named):
            """Gives all open figures, and does not wait."""
            for manager in self._managers():
                self._show_one(manager)

        pyplot.show = show
        FigureManagerBase.show = lambda manager: self._show_one(manager)

    def finish(self):
        """After an execution: gives what is open, but for the figure that was its value. One that fails keeps none of
        the others back; the first error is raised."""
        given, self.given = self.given, None
        errors = []
        for manager in self._managers():
            try:
                self._close(manager) if manager.canvas.figure is given else self._show_one(manager)
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def _show_one(self, manager):
        figure = manager.canvas.figure
        self._close(manager)
        if has_content(figure):
            self.publish({"text/plain": repr(figure), "image/png": figure_png(figure)})

    def _managers(self):
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        return helpers.Gcf.get_all_fig_managers() if helpers else []

    def _close(self, manager):
        sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)


# --- errors -------------------------------------------------------------------------------------------------------


def cell_name(count):
    return "<cell %d>" % count


def remember_source(code, name):
    """For tracebacks, warnings and inspect."""
    code += "" if code.endswith("\n") else "\n"
    import_own("linecache").cache[name] = (len(code), None, code.splitlines(True), name)


def from_first_cell(trace):
    """Without the frames that led to the user's code."""
    while trace and not trace.tb_frame.f_code.co_filename.startswith("<cell "):
        trace = trace.tb_next
    return trace


def drop_own_frames(summary, seen):
    if summary is None or id(summary) in seen:
        return
    seen.add(id(summary))
    summary.stack[:] = [frame for frame in summary.stack if frame.filename != OWN_FILE]
    for other in (summary.__cause__, summary.__context__, *(getattr(summary, "exceptions", None) or ())):
        drop_own_frames(other, seen)


def name_of_type(value):
    """Whatever the type's own type makes of it."""
    return type.__dict__["__name__"].__get__(type(value))


def summary_of(error):
    summary = import_own("traceback").TracebackException(type(error), error, from_first_cell(error.__traceback__))
    drop_own_frames(summary, set())
    return summary


def text_of_summary(summary):
    return re.sub(r'File "(<cell \d+>)"', r"File \1", "".join(summary.format()))


def traceback_of(error):
    return describe_error(error)["traceback"]


def text_of_error(error):
    try:
        return str(error)
    except Exception:
        return "<no text: str() of the error failed>"


def describe_error(error):
    """Asks the error for its text once: that is the user's code."""
    summary = summary_of(error)
    text = getattr(summary, "_str", None)
    value = text if isinstance(text, str) else text_of_error(error)
    return {"name": cut(name_of_type(error), 1000), "value": cut(value), "traceback": cut(text_of_summary(summary))}


def describe_plainly(error):
    """Without asking the error for anything, as it failed when it was asked."""
    places = "".join(import_own("traceback").format_tb(from_first_cell(error.__traceback__)))
    name = cut(name_of_type(error), 1000)
    value = "<no text: the error cannot be described>"
    head = "Traceback (most recent call last):\n"
    return {"name": name, "value": value, "traceback": cut("%s%s%s: %s\n" % (head, places, name, value))}


# --- the event loop -----------------------------------------------------------------------------------------------


class EventLoop:
    """For top-level await. Made when it is first needed; runs between executions, so that tasks go on."""

    def __init__(self, interrupts):
        self.interrupts = interrupts
        self.loop = None
        self.task = None

    def run(self, coroutine):
        return self.call(lambda: coroutine)

    def call(self, function, *arguments):
        """Runs the coroutine that the function makes."""
        self.task = None
        try:
            self.interrupts.shield(self._start, function, arguments)
            return self.loop.run_until_complete(self.task)
        except KeyboardInterrupt:
            if self.task is None or self.task.done():
                raise
            self.interrupts.shield(self._cancel)
            return self.task.result()

    def _start(self, function, arguments):
        asyncio = import_own("asyncio")
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            self.interrupts.open_code.add(asyncio.Handle._run.__code__)
        asyncio.set_event_loop(self.loop)
        self.task = self.loop.create_task(function(*arguments))

    def _cancel(self):
        """The code that is awaiting may clean up; if that takes long, it goes on by itself."""
        self.task.cancel()
        self.loop.run_until_complete(import_own("asyncio").wait({self.task}, timeout=CANCEL_PATIENCE))
        if not self.task.done():
            raise KeyboardInterrupt

    def run_until_readable(self, descriptor):
        while self.loop and not self.loop.is_closed():
            readable = self.loop.create_future()
            self.loop.add_reader(descriptor, lambda: readable.done() or readable.set_result(None))
            try:
                self.loop.run_until_complete(readable)
                return
            except (KeyboardInterrupt, SystemExit):  # of a task, or of the request that has just come
                self.interrupts.pending = self.interrupts.request_waits()
            except RuntimeError:  # a task has stopped the loop
                if self.loop.is_running():
                    return
            finally:
                self.loop.remove_reader(descriptor)


def calls_outside_functions(tree):
    """Names that are called when the cell is run, without what its functions call."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", None))
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            nodes.extend(ast.iter_child_nodes(node))


def wants_running_loop(tree):
    """A cell without await that makes tasks, as people do in notebooks. asyncio.run() wants that no loop runs."""
    calls = set(calls_outside_functions(tree))
    if calls & {"run", "run_until_complete"}:
        return False
    return bool(calls & {"create_task", "ensure_future", "get_running_loop"})


def ends_with_semicolon(code):
    """Whether the last sign is one; a comment may follow it."""
    tokenize = import_own("tokenize")
    last = ""
    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            last = last if token.type in passed_over else token.string
    except (tokenize.TokenError, SyntaxError):  # code that was run, but ends in a way of its own
        return code.rstrip().endswith(";")
    return last == ";"


def without_indent(code):
    """As IPython takes it: less by what the first line has."""
    indent = re.match(r"(?:[ \t]*\n)*([ \t]*)", code).group(1)
    return re.sub("^" + indent, "", code, flags=re.MULTILINE) if indent else code


# --- the engine without IPython -----------------------------------------------------------------------------------


class BuiltinEngine:
    name = "builtin"

    def __init__(self, kernel, module):
        self.kernel = kernel
        self.namespace = module.__dict__
        self.future_flags = 0
        self.last_values = ("", "", "")
        builtins.display = self.display

    def run(self, code, count):
        name = cell_name(count)
        code = without_indent(code)
        remember_source(code, name)
        self.namespace.pop("__warningregistry__", None)  # it knows lines, but not of which cell
        tree = compile(code, name, "exec", self._flags() | ast.PyCF_ONLY_AST, True)
        parts = self._compile(tree, name)
        if wants_running_loop(tree) or any(part.co_flags & 0x180 for part in parts):  # CO_COROUTINE, CO_ASYNC_GENERATOR
            value, error = self.kernel.loop.call(self._evaluate_async, parts)
            if error:
                raise error
        else:
            value = self._evaluate(parts)
        if value is not None and not ends_with_semicolon(code):
            self._give(value)

    def _flags(self):
        return self.future_flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    def _compile(self, tree, name):
        """The statements, then the expression at the end, if there is one."""
        statements, last = tree, None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        parts = [compile(statements, name, "exec", self._flags(), True)]
        self._keep_futures(parts[0])
        parts.append(compile(last or ast.parse("None", mode="eval"), name, "eval", self._flags(), True))
        return parts

    def _keep_futures(self, code):
        features = import_own("__future__")
        for feature in features.all_feature_names:
            self.future_flags |= code.co_flags & getattr(features, feature).compiler_flag

    def _evaluate(self, parts):
        value = None
        for part in parts:
            value = eval(part, self.namespace)
        return value

    async def _evaluate_async(self, parts):
        """The value and the error, which a task would not carry to the outside with all its frames."""
        value = None
        try:
            for part in parts:
                value = eval(part, self.namespace)
                if part.co_flags & 0x80:  # CO_COROUTINE
                    value = await value
        except BaseException as error:
            return None, error
        return value, None

    def _give(self, value):
        self._remember(value)
        if not self._displays_itself(value):
            bundle = bundle_of(value)
            if bundle:
                self.kernel.publish_main(value, with_json(value, bundle))

    def _remember(self, value):
        """As _, __ and ___, unless the user has a use for these names."""
        names = ("_", "__", "___")
        ours = all(self.namespace.get(name, "") is old for name, old in zip(names, self.last_values))
        self.last_values = (value,) + self.last_values[:2]
        if ours:
            self.namespace.update(zip(names, self.last_values))

    def _displays_itself(self, value):
        method = method_of(value, "_ipython_display_")
        if not method:
            return False
        method()
        return True

    def publish(self, bundle):
        self.kernel.publish(bundle)

    def display(self, *values, raw=False, **_named):
        """Gives each as a result; with raw, values are dictionaries by MIME type."""
        for value in values:
            if raw:
                self.kernel.publish(value)
            elif not self._displays_itself(value):
                self.kernel.publish(bundle_of(value))


# --- the engine with IPython --------------------------------------------------------------------------------------


def make_formatter_class():
    """How IPython finds the formats of a value."""
    from IPython.core.formatters import DisplayFormatter, PlainTextFormatter, catch_format_error
    from IPython.lib.pretty import RepresentationPrinter

    class Text(PlainTextFormatter):
        @catch_format_error
        def __call__(self, value):
            text = BoundedText()
            printer = RepresentationPrinter(
                text,
                self.verbose,
                self.max_width,
                self.newline,
                max_seq_length=self.max_seq_length,
                singleton_pprinters=self.singleton_printers,
                type_pprinters=self.type_printers,
                deferred_pprinters=self.deferred_printers,
            )
            try:
                printer.pretty(value)
                printer.flush()
            except TooMuch:
                pass
            return text.getvalue()

        def bound(self, kind):
            """Of strings and bytes, only the first is looked at."""
            usual = self.for_type(kind)

            def pretty(value, printer, cycle):
                printer.text(text_of_long(value)) if is_long(value) else usual(value, printer, cycle)

            self.for_type(kind, pretty)

    class Formatter(DisplayFormatter):
        def bound_text(self):
            text = self.formatters["text/plain"] = Text(parent=self)
            for kind in (str, bytes):
                text.bound(kind)

        def format(self, value, include=None, exclude=None):
            """A figure has a picture, whatever else the user wants of it."""
            bundle, metadata = super().format(value, include, exclude)
            if include is None and is_figure(value) and bundle and "image/png" not in bundle:
                bundle["image/png"] = figure_png(value)
            return bundle, metadata

    return Formatter


class ShellBehaviour:
    """What differs from IPython's own shell; mixed into it."""

    def should_run_async(self, raw_cell, *, transformed_cell=None, preprocessing_exc_tuple=None):
        named = {"transformed_cell": transformed_cell, "preprocessing_exc_tuple": preprocessing_exc_tuple}
        if super().should_run_async(raw_cell, **named):
            return True
        try:
            return wants_running_loop(ast.parse(transformed_cell or ""))
        except SyntaxError:
            return False

    def system(self, command):
        """For `!command`; without a terminal, and it can be interrupted."""
        shell = os.environ.get("SHELL") or None
        status = import_own("subprocess").call(self.var_expand(command, depth=1), shell=True, executable=shell)
        self.user_ns["_exit_code"] = status

    def showtraceback(self, exc_tuple=None, *_arguments, **_named):
        """The error of a cell is told when it has ended; this is for others, as in a _repr_html_."""
        error = exc_tuple[1] if exc_tuple else None
        if error is None and sys.exc_info()[1] is None:
            error = getattr(sys, "last_value", None)
        if error is not None:
            print(traceback_of(error), file=sys.stderr, end="")

    def showsyntaxerror(self, *_arguments, **_named):
        pass

    def enable_matplotlib(self, gui=None):
        """For `%matplotlib inline`: figures are always given."""
        return "inline", "agg"

    def enable_gui(self, gui=None):
        pass

    def init_sys_path(self):
        """The current folder comes when all is loaded."""


def make_shell_class(kernel):
    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type

    class Compiler(CachingCompiler):
        def get_code_name(self, raw_code, transformed_code, number):
            return cell_name(number)

    class MainResult(DisplayHook):
        def write_output_prompt(self):
            pass

        def compute_format_data(self, result):
            bundle, metadata = super().compute_format_data(result)
            self.value = result
            return with_json(result, bundle) if bundle else bundle, metadata

        def write_format_data(self, format_dict, md_dict=None):
            kernel.publish_main(self.value, format_dict)
            self.value = None

        def finish_displayhook(self):
            pass

    class Publisher(DisplayPublisher):
        def publish(self, data, *_arguments, **_named):
            kernel.publish(data)

        def clear_output(self, wait=False):
            pass

    class Shell(ShellBehaviour, InteractiveShell):
        compiler_class = Type(Compiler)
        displayhook_class = Type(MainResult)
        display_pub_class = Type(Publisher)

        def init_display_formatter(self):
            self.display_formatter = make_formatter_class()(parent=self)
            self.display_formatter.bound_text()
            self.configurables.append(self.display_formatter)

        def captures(self):
            """Whether what is displayed goes somewhere else: in a cell with `%%capture`."""
            return not isinstance(self.display_pub, Publisher)

    return Shell


def accept_inline_settings(shell):
    """`%config InlineBackend.figure_format = 'retina'` is common, and no reason to fail."""
    from traitlets import Any
    from traitlets.config import Configurable

    names = ("figure_format", "figure_formats", "print_figure_kwargs", "rc", "close_figures")
    settings = type("InlineBackend", (Configurable,), {name: Any().tag(config=True) for name in names})
    shell.configurables.append(settings(parent=shell))


def put_into_builtins():
    """For threads, too, that go on after their cell."""
    from IPython.display import display
    from IPython import get_ipython

    builtins.display = display
    builtins.get_ipython = get_ipython


def print_page(_shell, data, *_arguments, **_named):
    """For `?`: no pager."""
    print(data.get("text/plain", "") if isinstance(data, dict) else data)


class IPythonEngine:
    name = "ipython"

    def __init__(self, kernel, module):
        self.shell = self._make_shell(make_shell_class(kernel), module)
        self.shell.loop_runner = kernel.loop.run
        self.shell.set_hook("show_in_pager", print_page, 0)
        self.shell.user_ns.update(exit=leave, quit=leave)
        png = self.shell.display_formatter.formatters["image/png"]
        png.for_type_by_name("matplotlib.figure", "Figure", figure_png)
        accept_inline_settings(self.shell)
        self.shell.events.register("post_execute", lambda: self.shell.captures() and kernel.figures.finish())
        put_into_builtins()
        ignore_warnings("To exit: use 'exit'")

    def _make_shell(self, shell_class, module):
        """One that leaves no files behind."""
        import tempfile
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "NoColor"
        self.folder = tempfile.TemporaryDirectory(prefix="ipython-")
        return shell_class.instance(config=config, user_module=module, ipython_dir=self.folder.name)

    def publish(self, bundle):
        self.shell.display_pub.publish(bundle)

    def run(self, code, count):
        self.shell.execution_count = count
        outcome = self.shell.run_cell(code, store_history=True)
        error = outcome.error_before_exec or outcome.error_in_exec
        if error:
            raise error


def make_engine(kernel, module):
    if os.environ.pop("COVE_CONTEXT_ENGINE", "") != "builtin":
        try:
            return IPythonEngine(kernel, module)
        except Exception as error:  # there is none, or one that is too different
            if not isinstance(error, ModuleNotFoundError) or not str(error.name).startswith("IPython"):
                kernel.complaint = "IPython is not used, because it failed: %s: %s" % (name_of_type(error), error)
    return BuiltinEngine(kernel, module)


# --- the surroundings of the user's code --------------------------------------------------------------------------


def refuse_input(prompt=""):
    """In place of input()."""
    raise StdinNotImplementedError("input() has nobody to ask in a context; put the value into the code")


def leave(*code):
    """In place of exit() and quit(), which would close stdin."""
    raise SystemExit(*code)


def interruptible_system(command):
    """As os.system(), which does not listen to SIGINT before the command has ended."""
    status = import_own("subprocess").call(command, shell=True, close_fds=False)
    return status << 8 if status >= 0 else -status


def ignore_warnings(message):
    warnings.filterwarnings("ignore", message)


def prepare_interpreter():
    """As it is at an interactive prompt in the current folder."""
    sys.argv = [""]
    builtins.print = stand_for(print_whole, print)
    builtins.input = stand_for(refuse_input, input)
    builtins.exit = builtins.quit = leave
    os.system = stand_for(interruptible_system, os.system)


def make_main_module():
    """The user's __main__; ours goes on without a name."""
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    return module


# --- the kernel ---------------------------------------------------------------------------------------------------


class Kernel:
    def __init__(self):
        self.is_child = False  # a fork of the user's code
        self.count = 0
        self.complaint = ""  # for the first execution
        supervisor = split_in_two()
        self.channel = Channel(supervisor)
        self.interrupts = Interrupts(self.channel.has_request)
        self.channel.interrupts = self.interrupts
        put_null_on_stdin()
        self.output = Output(supervisor)
        self.loop = EventLoop(self.interrupts)
        self.figures = Figures(lambda bundle: self.engine.publish(bundle))
        os.register_at_fork(after_in_child=self._become_child)

    def start(self):
        self.interrupts.install()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        prepare_interpreter()
        self.figures.watch()
        self.engine = make_engine(self, make_main_module())
        version = ".".join(str(number) for number in sys.version_info[:3])
        self.channel.send_message(
            {"type": "ready", "language": "python", "version": version, "engine": self.engine.name}
        )
        self.output.use_c_library()
        sys.path.insert(0, "")  # only now: none of the user's files is to be taken for one that was needed until here

    def serve(self):
        while True:
            if not self.channel.has_unread():
                self.loop.run_until_readable(self.channel.requests)
            request = self.channel.request()
            if request is None or request.get("type") == "shutdown":
                return
            if request.get("type") == "execute":
                self.execute(str(request.get("id", "")), str(request.get("code", "")))

    def execute(self, id, code):
        self.interrupts.begin()
        self.channel.begin(id)
        self.count += 1
        self._complain()
        error = self._outcome(self.engine.run, code, self.count)
        if self.is_child:
            leave_child(error)
        error = first_error(error, self._outcome(self.figures.finish), self._outcome(self.output.flush))
        self.output.repair()
        repair_stdin()
        if error is not None:
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
            self.channel.send("error", **self._description(error))
        others_wait = self.channel.has_request()
        self.channel.send("done", count=self.count, status=self._status(error))
        self.interrupts.end(others_wait)

    def _complain(self):
        if self.complaint:
            print(self.complaint, file=sys.stderr)
            self.complaint = ""

    def _description(self, error):
        """It is the user's code that describes an error, so it may be interrupted."""
        try:
            return self.interrupts.call(describe_error, error)
        except BaseException:
            return describe_plainly(error)

    def _outcome(self, function, *arguments):
        """None or the error that ended it."""
        try:
            self.interrupts.call(function, *arguments)
            return None
        except BaseException as error:
            return self._as_interrupt(error)

    def _as_interrupt(self, error):
        """An awaiting cell is interrupted by being cancelled."""
        if self.interrupts.delivered and name_of_type(error) == "CancelledError":
            return KeyboardInterrupt().with_traceback(error.__traceback__)
        return error

    def _status(self, error):
        if error is None:
            return "ok"
        interrupted = isinstance(error, KeyboardInterrupt) and self.interrupts.delivered
        return "interrupted" if interrupted else "error"

    def publish_main(self, value, bundle):
        if is_figure(value):
            self.figures.given = value
        self._send_result(bundle, main=True)

    def publish(self, bundle):
        self._send_result(bundle, main=False)

    def _send_result(self, bundle, main):
        if self.is_child:
            print(bundle.get("text/plain", ""))
            return
        self.output.flush()
        self.channel.send("result", main=main, formats=formats_of_bundle(bundle))

    def _become_child(self):
        """A fork speaks only through stdout and stderr."""
        if not self.is_child:
            self.is_child = True
            self.channel.close()

    def stop(self):
        """Without waiting for threads, and not for long for what the user's code does at its end."""
        _thread.start_new_thread(lambda: (time.sleep(EXIT_PATIENCE), os._exit(0)), ())
        atexit._run_exitfuncs()
        self.output.flush()
        os._exit(0)


def first_error(*errors):
    return next((error for error in errors if error is not None), None)


def leave_child(error):
    """A fork that came to the end of its cell."""
    if error is not None and not isinstance(error, SystemExit):
        print(traceback_of(error), file=sys.stderr, end="")
    code = getattr(error, "code", 0 if error is None else 1)
    for file in (sys.stdout, sys.stderr):
        file.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def main():
    kernel = Kernel()
    kernel.start()
    kernel.serve()
    kernel.stop()


if __name__ == "__main__":
    main()
