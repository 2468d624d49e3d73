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
