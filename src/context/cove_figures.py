"""A matplotlib backend for plain scripts in a sandbox: figures become files.

With MPLBACKEND=module://cove_figures, every figure that pyplot.show() would show, and every one that is open when the
interpreter ends, is written as PNG into a folder whose name has the number of the session: figure-01.png and on. Process
1 finds it there when the program has ended. pyplot.show() does not wait, and closes what it has given.
"""

import atexit
import io
import os
import sys

from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

FOLDER = "/tmp/.cove-figures-%d" % os.getsid(0)
MOST_FIGURES = 32
MOST_BYTES = 8 << 20


class FigureManager(FigureManagerBase):
    def show(self):
        """For Figure.show()."""
        give(self)


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
    """Writes the figure and closes it; what goes wrong is told, and does not end the script."""
    Gcf.destroy(manager.num)
    try:
        write(manager.canvas.figure)
    except Exception as error:
        complain("figure %s cannot be given: %s: %s" % (manager.num, type(error).__name__, error))


def complain(text):
    try:
        print(text, file=sys.stderr)
    except Exception:  # there may be none
        pass


def write(figure):
    """Under the next free number, unless there are enough. Other processes write into the same folder."""
    if os.path.exists(path_of(MOST_FIGURES)):
        return complain_of_too_many()
    data = bounded_png(figure)
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    for number in range(1, MOST_FIGURES + 1):
        try:
            with open(path_of(number), "xb") as file:
                file.write(data)
            return
        except FileExistsError:
            continue
    complain_of_too_many()


def complain_of_too_many(told=[]):
    if not told:
        told.append(True)
        complain("more than %d figures: the others are not given" % MOST_FIGURES)


def path_of(number):
    return os.path.join(FOLDER, "figure-%02d.png" % number)


def bounded_png(figure):
    """Of a figure that is too large, a smaller picture."""
    data = png(figure, figure.dpi)
    if len(data) > MOST_BYTES:
        data = png(figure, figure.dpi * 0.8 * (MOST_BYTES / len(data)) ** 0.5)
    if len(data) > MOST_BYTES:
        raise ValueError("too large")
    return data


def png(figure, dpi):
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=dpi, bbox_inches="tight")
    return file.getvalue()


# Runs before matplotlib's own, which closes all figures.
atexit.register(show)
