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
        self.comparisons = MOST_COMPARISONS

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
            self.comparisons -= len(value) ** 2 // 2
            if self.comparisons < 0:
                raise TooMuch
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
