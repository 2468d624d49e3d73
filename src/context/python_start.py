

def _settle():
    """What is loaded now stays until the interpreter ends, so no collection need look at it, least of all the one at
    the end. The script's own module must not be among it: what that holds goes when the script does."""
    import sys

    known = "gc" in sys.modules
    import gc

    gc.freeze()
    old = sys.modules["__main__"]
    new = type(sys)("__main__")
    vars(new).update(vars(old))
    if "__annotations__" in vars(old):
        new.__annotations__ = {}
    sys.modules["__main__"] = new
    if not known:
        del sys.modules["gc"]


_settle()
del _settle
