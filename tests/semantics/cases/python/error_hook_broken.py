import sys


def hook(*arguments):
    raise RuntimeError("the hook itself")


sys.excepthook = hook
raise ValueError("the original")
