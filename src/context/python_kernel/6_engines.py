# --- the engine without IPython -----------------------------------------------------------------------------------


class BuiltinEngine:
    name = "builtin"

    def __init__(self, kernel, module):
        self.kernel = kernel
        self.namespace = module.__dict__
        self.future_flags = 0
        self.last_values = ("", "", "")
        builtins.display = self.display
        builtins.update_display = self.update_display
        builtins.clear_output = kernel.clear

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

    def display(self, *values, raw=False, display_id=None, update=False, **_named):
        """Gives each as a result; with raw, values are dictionaries by MIME type. With a display_id (True makes one), the
        result can be replaced by what is displayed as its update."""
        if display_id is True:
            display_id = os.urandom(16).hex()
        if update and not display_id:
            raise TypeError("display_id required for update_display")
        for value in values:
            if raw:
                self.kernel.publish(value, display_id, update)
            elif not self._displays_itself(value):
                self.kernel.publish(bundle_of(value), display_id, update)
        return DisplayHandle(self.display, display_id) if display_id else None

    def update_display(self, value, *, display_id, **named):
        self.display(value, display_id=display_id, **{**named, "update": True})


class DisplayHandle:
    """Of what was displayed, as IPython has it."""

    def __init__(self, display, display_id):
        self.display_id = display_id
        self._display = display

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, value, **named):
        self._display(value, display_id=self.display_id, **named)

    def update(self, value, **named):
        self._display(value, display_id=self.display_id, update=True, **named)


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
        def publish(self, data, *_arguments, transient=None, update=False, **_named):
            kernel.publish(data, (transient or {}).get("display_id"), update)

        def clear_output(self, wait=False):
            kernel.clear(wait)

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
    from IPython.display import clear_output, display, update_display
    from IPython import get_ipython

    builtins.display = display
    builtins.update_display = update_display
    builtins.clear_output = clear_output
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
