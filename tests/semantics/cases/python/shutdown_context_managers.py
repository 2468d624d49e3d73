import contextlib
import sys


@contextlib.contextmanager
def room(name):
    print("enter", name)
    try:
        yield
    finally:
        print("leave", name)


with room("outer"), contextlib.ExitStack() as stack:
    stack.callback(print, "callback")
    with room("inner"):
        sys.exit(3)
