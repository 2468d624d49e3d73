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
