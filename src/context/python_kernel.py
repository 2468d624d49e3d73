"""A Python interpreter that keeps its state between executions: the inside of a context.

It speaks docs/formats/context-channel.md on the descriptors 0 and 1 that it was started with. The standard library
is all it needs; where IPython can be imported, cells are run by it. For Python 3.8 and newer.
"""

import ast
import builtins
import codecs
import fcntl
import io
import json
import os
import select
import signal
import sys
import time
import types
import _thread

OWN_FILE = (lambda: None).__code__.co_filename
HIGH_DESCRIPTORS = (700, 100, 20)  # the first that the limit of open files allows
PIPE_BYTES = 1 << 20
READ_BYTES = 1 << 16
OUTPUT_PAUSE = 0.004  # between two looks at a trickle of output, so that the reader does not fight for the interpreter
CANCEL_PATIENCE = 2  # seconds for a task to end that was cancelled
EXIT_PATIENCE = 2

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

    def end(self):
        self.executing = False
        self.pending = False
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


# --- the channel --------------------------------------------------------------------------------------------------


def move_up(descriptor):
    """A close-on-exec duplicate with a number that programs do not happen to use."""
    for lowest in HIGH_DESCRIPTORS:
        try:
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
        except OSError:
            continue
    raise SystemExit("python_kernel: too few open files are allowed")


def wait_readable(descriptor, milliseconds):
    """Whether it is, in that time; None: however long that takes."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(milliseconds))


def end_unheard():
    """Nobody listens any more, and there is nobody to complain to."""
    os._exit(1)


class Channel:
    """Requests come and answers go here, one JSON object per line."""

    def __init__(self):
        self.requests = move_up(0)
        self.answers = move_up(1)
        self.id = ""
        self.interrupts = None
        self._unread = bytearray()
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
        searched = 0
        while True:
            end = self._unread.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._unread[:end])
                del self._unread[: end + 1]
                return line
            searched = len(self._unread)
            self._wait()
            data = self._read()
            if not data:
                return None
            self._unread += data

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
        return bool(self._unread)

    def send(self, kind, **fields):
        """An answer to the request at hand, or the last one."""
        self.send_message({"type": kind, "id": self.id, **fields})

    def send_message(self, message):
        # A lone surrogate is no valid JSON: it becomes a question mark.
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        self.interrupts.shield(self._write, line)

    def _write(self, line):
        with self._lock:
            rest = memoryview(line)
            while rest:
                rest = rest[self._write_some(rest) :]

    def _write_some(self, data):
        try:
            return os.write(self.answers, data)
        except BlockingIOError:  # somebody has made the pipe so
            os.set_blocking(self.answers, True)
            return 0
        except OSError:
            end_unheard()

    def close(self):
        os.close(self.requests)
        os.close(self.answers)


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


class CapturedStream:
    """A pipe in place of descriptor 1 or 2."""

    def __init__(self, descriptor, name):
        self.descriptor = descriptor
        self.name = name
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._make_pipe()
        os.dup2(self.writer, descriptor)
        self._put_file()

    def _make_pipe(self):
        ends = os.pipe()
        self.reader, self.writer = (move_up(end) for end in ends)
        for end in ends:
            os.close(end)
        os.set_blocking(self.reader, False)
        try:
            self.capacity = fcntl.fcntl(self.writer, 1031, PIPE_BYTES)  # F_SETPIPE_SZ
        except OSError:
            self.capacity = READ_BYTES

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
        except BaseException:  # it is the user's object
            pass

    def repair(self):
        """After the user's code has closed or replaced the descriptor, or detached or replaced the file."""
        if not self._is_ours():
            os.dup2(self.writer, self.descriptor)
        os.set_blocking(self.writer, True)
        self._put_file() if self._is_detached() else self._show_file()

    def _is_detached(self):
        try:
            return self.file.closed
        except ValueError:
            return True

    def _is_ours(self):
        try:
            return os.path.sameopenfile(self.descriptor, self.writer)
        except OSError:
            return False

    def read(self):
        """Texts of what is in the pipe now, and not of what is written to it meanwhile."""
        count = 0
        while count < self.capacity:
            try:
                data = os.read(self.reader, READ_BYTES)
            except BlockingIOError:
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


class Output:
    """What the user's code and its children print, forwarded as it comes."""

    def __init__(self, channel, interrupts):
        self.channel = channel
        self.interrupts = interrupts
        self.streams = (CapturedStream(1, "stdout"), CapturedStream(2, "stderr"))
        self._flush_c = lambda: None
        self._lock = _thread.allocate_lock()

    def start(self):
        # Not a threading.Thread: those who join all threads would wait for it.
        _thread.start_new_thread(self._forward_forever, ())

    def _forward_forever(self):
        # A signal that this thread took would not wake the main one.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        poll = select.poll()
        for stream in self.streams:
            poll.register(stream.reader, select.POLLIN)
        while True:
            poll.poll()
            try:
                count = self.forward()
            except OSError:  # the user's code has closed the pipes
                end_unheard()
            if count < READ_BYTES:
                time.sleep(OUTPUT_PAUSE)

    def forward(self):
        return self.interrupts.shield(self._forward)

    def _forward(self):
        count = 0
        with self._lock:
            for stream in self.streams:
                for text in stream.read():
                    self.channel.send(stream.name, text=text)
                    count += len(text)
        return count

    def flush(self):
        """Forwards all that has been printed until now."""
        for stream in self.streams:
            stream.flush()
        self._flush_c()
        self.forward()

    def finish(self):
        """At the end of an execution."""
        self.flush()
        with self._lock:
            for stream in self.streams:
                rest = stream.rest()
                if rest:
                    self.channel.send(stream.name, text=rest)

    def repair(self):
        for stream in self.streams:
            stream.repair()

    def use_c_library(self):
        """Lines that C code prints come at once, and the rest at the end of the execution."""
        try:
            import ctypes

            library = ctypes.CDLL(None)
            stdout = ctypes.c_void_p.in_dll(library, "stdout")
            line_buffered = 1
            library.setvbuf(stdout, None, line_buffered, ctypes.c_size_t(0))
            self._flush_c = lambda: library.fflush(stdout)
        except Exception:  # an interpreter without ctypes
            pass

    def forget_readers(self):
        for stream in self.streams:
            os.close(stream.reader)


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
    import base64

    return base64.b64encode(data).decode("ascii")


def is_json(value):
    if isinstance(value, str):
        return True
    try:
        json.dumps(value, allow_nan=False)
        return True
    except (TypeError, ValueError, RecursionError):
        return False


def formats_of_bundle(bundle):
    """A MIME bundle in the words of the channel; what cannot be sent is left out."""
    formats = {}
    for mime, data in bundle.items():
        if mime in BINARY:
            data = base64_of(data)
        elif isinstance(data, bytes):
            data = data.decode("utf-8", "replace")
        if not is_json(data):
            continue
        if mime in FORMATS:
            formats[FORMATS[mime]] = data
        else:
            formats.setdefault("extra", {})[mime] = data
    return formats


def with_json(value, bundle):
    """Lists and dictionaries are given as JSON too."""
    if isinstance(value, (dict, list)) and "application/json" not in bundle and is_json(value):
        bundle["application/json"] = value
    return bundle


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
        print(describe_error(error)["traceback"], file=sys.stderr, end="")
        return None
    return data[0] if isinstance(data, tuple) else data  # the other is metadata


def bundle_of(value):
    """The formats of an object, for the engine without IPython."""
    bundle = {"text/plain": repr(value)}
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
        from importlib.util import find_spec

        sys.meta_path.remove(self)
        try:
            spec = find_spec(name)
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
        """After an execution: gives what is open, but for the figure that was its value."""
        for manager in self._managers():
            if manager.canvas.figure is self.given:
                self._close(manager)
            else:
                self._show_one(manager)
        self.given = None

    def _show_one(self, manager):
        figure = manager.canvas.figure
        self._close(manager)
        if figure.axes or figure.lines or figure.texts or figure.images:
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
    import linecache

    linecache.cache[name] = (len(code), None, code.splitlines(True), name)


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


def traceback_of(error):
    import re
    import traceback

    summary = traceback.TracebackException(type(error), error, from_first_cell(error.__traceback__))
    drop_own_frames(summary, set())
    return re.sub(r'File "(<cell \d+>)"', r"File \1", "".join(summary.format()))


def text_of_error(error):
    try:
        return str(error)
    except Exception:
        return "<no text: str() of the error failed>"


def describe_error(error):
    return {"name": type(error).__name__, "value": text_of_error(error), "traceback": traceback_of(error)}


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
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            self.interrupts.open_code.add(asyncio.Handle._run.__code__)
        asyncio.set_event_loop(self.loop)
        self.task = self.loop.create_task(function(*arguments))

    def _cancel(self):
        """The code that is awaiting may clean up; if that takes long, it goes on by itself."""
        import asyncio

        self.task.cancel()
        self.loop.run_until_complete(asyncio.wait({self.task}, timeout=CANCEL_PATIENCE))
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
    import tokenize

    last = ""
    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            last = last if token.type in passed_over else token.string
    except (tokenize.TokenError, SyntaxError):  # code that was run, but ends in a way of its own
        return code.rstrip().endswith(";")
    return last == ";"


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
        import __future__

        for feature in __future__.all_feature_names:
            self.future_flags |= code.co_flags & getattr(__future__, feature).compiler_flag

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
            self.kernel.publish_main(value, with_json(value, bundle_of(value)))

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

    def display(self, *values, raw=False, **_named):
        """Gives each as a result; with raw, values are dictionaries by MIME type."""
        for value in values:
            if raw:
                self.kernel.publish(value)
            elif not self._displays_itself(value):
                self.kernel.publish(bundle_of(value))


# --- the engine with IPython --------------------------------------------------------------------------------------


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
        import subprocess

        shell = os.environ.get("SHELL") or None
        status = subprocess.call(self.var_expand(command, depth=1), shell=True, executable=shell)
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
        except Exception:  # there is none, or one that is too different
            pass
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
    import subprocess

    status = subprocess.call(command, shell=True, close_fds=False)
    return status << 8 if status >= 0 else -status


def ignore_warnings(message):
    import warnings

    warnings.filterwarnings("ignore", message)


def prepare_interpreter():
    """As it is at an interactive prompt in the current folder."""
    sys.argv = [""]
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(OWN_FILE)):
        del sys.path[0]
    sys.path.insert(0, "")
    builtins.print = print_whole
    builtins.input = refuse_input
    builtins.exit = builtins.quit = leave
    os.system = interruptible_system
    if sys.version_info >= (3, 12):
        # The thread that forwards the output holds no lock that a child would need.
        ignore_warnings("This process .* is multi-threaded")


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
        self.channel = Channel()
        self.interrupts = Interrupts(self.channel.has_request)
        self.channel.interrupts = self.interrupts
        put_null_on_stdin()
        self.output = Output(self.channel, self.interrupts)
        self.loop = EventLoop(self.interrupts)
        self.figures = Figures(self.publish)
        os.register_at_fork(after_in_child=self._become_child)

    def start(self):
        self.interrupts.install()
        prepare_interpreter()
        self.figures.watch()
        self.output.start()
        self.engine = make_engine(self, make_main_module())
        version = ".".join(str(number) for number in sys.version_info[:3])
        self.channel.send_message(
            {"type": "ready", "language": "python", "version": version, "engine": self.engine.name}
        )
        self.output.use_c_library()

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
        self.output.forward()  # what was printed since belongs to the execution before
        self.channel.id = id
        self.count += 1
        error = self._outcome(self.engine.run, code, self.count)
        if self.is_child:
            leave_child(error)
        figure_error = self._outcome(self.figures.finish)
        error = error or figure_error
        self.output.finish()
        self.output.repair()
        repair_stdin()
        if error:
            sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
            self.channel.send("error", **describe_error(error))
        self.channel.send("done", count=self.count, status=self._status(error))
        self.interrupts.end()

    def _outcome(self, function, *arguments):
        """None or the error that ended it."""
        try:
            self.interrupts.call(function, *arguments)
            return None
        except BaseException as error:
            return self._as_interrupt(error)

    def _as_interrupt(self, error):
        """An awaiting cell is interrupted by being cancelled."""
        if self.interrupts.delivered and type(error).__name__ == "CancelledError":
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
            self.output.forget_readers()

    def stop(self):
        """Without waiting for threads, and not for long for what the user's code does at its end."""
        import atexit

        _thread.start_new_thread(lambda: (time.sleep(EXIT_PATIENCE), os._exit(0)), ())
        atexit._run_exitfuncs()
        self.output.finish()
        os._exit(0)


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
