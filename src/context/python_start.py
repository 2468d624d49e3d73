

def _settle():
    """What is loaded now stays until the interpreter ends, so no collection need look at it, least of all the one at
    the end. The script's own module must not be among it: what that holds goes when the script does. Nor must a class
    that the script hangs something on: where one was changed, all is collected as ever."""
    import sys

    known = "gc" in sys.modules
    import gc

    metas = {type, *type.__subclasses__(type)}
    loaded = [getattr(module, "__dict__", ()) for module in [*sys.modules.values()]]
    loaded = [names for names in loaded if "__file__" in names]  # no others have classes that can be changed
    made_here = 1 << 9  # Py_TPFLAGS_HEAPTYPE
    kinds = {each for names in loaded for each in names.values() if type(each) in metas and each.__flags__ & made_here}
    before = [(vars(kind), (*vars(kind).values(),)) for kind in kinds]

    class Changes:
        """Goes first of all when the interpreter ends, with the hook that it hangs on."""

        def __del__(self, unfreeze=gc.unfreeze, ends=sys.is_finalizing):
            try:
                same = ends() and all([(*now.values(),) == then for now, then in before])
            except BaseException:
                same = False
            if not same:
                unfreeze()

    sys.__interactivehook__.settled = Changes()
    gc.freeze()
    old = sys.modules["__main__"]
    new = type(sys)("__main__")
    vars(new).update(vars(old))
    if "__annotations__" in vars(old):
        new.__annotations__ = {}
    sys.modules["__main__"] = new
    if not known:
        del sys.modules["gc"]


try:
    _settle()
except Exception:
    pass
del _settle
