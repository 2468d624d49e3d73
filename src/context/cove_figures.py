"""A matplotlib backend for plain scripts in a sandbox: figures become files.

With MPLBACKEND=module://cove_figures, every figure that pyplot.show() would show, and every one that is open when the
interpreter ends, is written as PNG into a folder whose name has the number of the session: figure-01.png and on. Process
1 finds it there when the program has ended. pyplot.show() does not wait, and closes what it has given. The file
left-out in that folder has a byte for each figure that could not be written.

Loaded behind pyplot (see sitecustomize.py), it does the same for other backends without windows, which a script may
choose. There figures stay open when they were shown, as the script expects it of them, and are given again only where
they have changed.
"""

import atexit
import io
import os
import sys
import weakref

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

FOLDER = "/tmp/.cove-figures-%d" % os.getsid(0)
MOST_FIGURES = 32
MOST_BYTES = 8 << 20


class FigureManager(FigureManagerBase):
    """Of figures that are closed when they were given."""


class FigureCanvas(FigureCanvasAgg):
    manager_class = FigureManager


def new_figure_manager(number, *arguments, FigureClass=None, **named):
    from matplotlib.figure import Figure

    return new_figure_manager_given_figure(number, (FigureClass or Figure)(*arguments, **named))


def new_figure_manager_given_figure(number, figure):
    return FigureManager(FigureCanvas(figure), number)


def draw_if_interactive():
    pass


def show(*_arguments, **_named):
    for manager in Gcf.get_all_fig_managers():
        give(manager)


def give(manager):
    """Writes the figure, and closes one of this backend; what goes wrong is told, and does not end the script."""
    if isinstance(manager, FigureManager):
        Gcf.destroy(manager.num)
    try:
        write(manager.canvas.figure)
    except Exception as error:
        complain("figure %s cannot be given: %s: %s" % (manager.num, type(error).__name__, error))
        leave_out()


def complain(text):
    try:
        print(text, file=sys.stderr)
    except Exception:  # there may be none
        pass


def write(figure):
    """Under the next free number, unless there are enough. Other processes write into the same folder."""
    if os.path.exists(path_of(MOST_FIGURES)):
        return leave_out_of_too_many()
    data = bounded_png(figure)
    if was_given(figure, data):
        return
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    for number in range(1, MOST_FIGURES + 1):
        try:
            with open(path_of(number), "xb") as file:
                file.write(data)
            return
        except FileExistsError:
            continue
    leave_out_of_too_many()


def was_given(figure, data, pictures=weakref.WeakKeyDictionary()):
    """Whether this was the figure's last picture; now it is."""
    before, pictures[figure] = pictures.get(figure), hash(data)
    return before == hash(data)


def leave_out_of_too_many(told=[]):
    if not told:
        told.append(True)
        complain("more than %d figures: the others are not given" % MOST_FIGURES)
    leave_out()


def leave_out():
    """The caller is told how many."""
    try:
        os.makedirs(FOLDER, mode=0o700, exist_ok=True)
        with open(os.path.join(FOLDER, "left-out"), "ab") as file:
            file.write(b".")
    except OSError:
        pass


def path_of(number):
    return os.path.join(FOLDER, "figure-%02d.png" % number)


def bounded_png(figure):
    """Of a figure that is too large, a smaller picture."""
    dpi = dpi_of(figure)
    data = png(figure, dpi)
    if len(data) > MOST_BYTES:
        data = png(figure, dpi * 0.8 * (MOST_BYTES / len(data)) ** 0.5)
    if len(data) > MOST_BYTES:
        raise ValueError("too large")
    return data


def dpi_of(figure):
    """As it was made: where a backend of vectors has written a file, it leaves its own behind."""
    return figure.dpi if figure.canvas.fixed_dpi is None else getattr(figure, "_original_dpi", figure.dpi)


def png(figure, dpi):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight")
    return file.getvalue()


# pyplot.show() and Figure.show() come to it, in every backend without windows.
FigureManagerBase.show = give

# Runs before matplotlib's own, which closes all figures.
atexit.register(show)
