import sys
import traceback


def inner():
    raise KeyError("k")


def outer():
    inner()


try:
    outer()
except KeyError as error:
    print(traceback.format_exc())
    print(traceback.extract_tb(error.__traceback__)[-1].line)
    print([(frame.name, frame.lineno, frame.colno, frame.end_colno) for frame in traceback.extract_tb(error.__traceback__)])
traceback.print_stack(file=sys.stdout)
