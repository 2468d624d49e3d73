"""Draws what pictures are compared with, in a process of its own: kernels are forked from one without pyplot."""

import base64
import io
import os
import pickle


class Painter:
    def __init__(self):
        orders, self.orders = os.pipe()
        self.pictures, pictures = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.orders)
            try:
                paint_all(os.fdopen(orders, "rb"), os.fdopen(pictures, "wb"))
            finally:
                os._exit(0)
        os.close(orders)
        os.close(pictures)
        self.orders = os.fdopen(self.orders, "wb")
        self.pictures = os.fdopen(self.pictures, "rb")
        self.drawn = {}

    def draw(self, code):
        """The image as PNG; raises what the code raised."""
        if code not in self.drawn:
            pickle.dump(code, self.orders)
            self.orders.flush()
            self.drawn[code] = pickle.load(self.pictures)
        if isinstance(self.drawn[code], str):
            raise AssertionError(f"the expected picture cannot be drawn: {self.drawn[code]}")
        return self.drawn[code]

    def close(self):
        self.orders.close()
        os.waitpid(self.pid, 0)


def paint_all(orders, pictures):
    while True:
        try:
            code = pickle.load(orders)
        except EOFError:
            return
        try:
            picture = paint(code)
        except Exception as error:
            picture = f"{type(error).__name__}: {error}"
        pickle.dump(picture, pictures)
        pictures.flush()


def paint(code):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = {"plt": pyplot}
    exec(code, names)
    file = io.BytesIO()
    if "image" in names:
        names["image"].save(file, format="png")
    else:
        figure = names.get("figure") or pyplot.gcf()
        figure.savefig(file, format="png", bbox_inches="tight")
    pyplot.close("all")
    return file.getvalue()


def image_of(data):
    """Rows of pixels, red, green, blue and alpha."""
    import numpy
    from PIL import Image

    return numpy.asarray(Image.open(io.BytesIO(data)).convert("RGBA"), dtype=int)


def differences(painter, code, data):
    """Between the picture that the code draws and this one, base64."""
    import numpy

    got = image_of(base64.b64decode(data, validate=True))
    expected = image_of(painter.draw(code))
    if got.shape != expected.shape:
        return [f"{got.shape} pixels, not {expected.shape}"]
    distance = numpy.abs(got - expected)
    return [f"{(distance > 2).sum()} values of pixels differ"] if distance.max() > 2 else []
