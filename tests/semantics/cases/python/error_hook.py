import sys


def hook(kind, value, traceback):
    print("hook:", kind.__name__, value, traceback.tb_lineno, traceback.tb_next, file=sys.stderr)


sys.excepthook = hook
raise ValueError("x")
