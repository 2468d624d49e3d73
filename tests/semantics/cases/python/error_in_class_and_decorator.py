def decorate(kind):
    raise TypeError(kind.__qualname__)


class Outer:
    @decorate
    class Inner:
        pass
