

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


def _follow_pyplot():
    """Where figures are wanted, they are also wanted of a script that chooses its backend: behind pyplot, cove_figures is
    loaded. What is put in place for that has returned when a module is executed. Only in pyplot's own tracebacks it would
    be seen, and has the file name by which Python leaves out what imports."""
    import os
    import sys

    if os.environ.get("MPLBACKEND") != "module://cove_figures":
        return
    loader = sys.modules["_frozen_importlib_external"].SourceFileLoader

    def create_module(self, spec):
        if spec.name == "matplotlib.pyplot":
            self.exec_module = exec_module.__get__(self)

    def exec_module(self, module):
        del self.exec_module
        self.exec_module(module)
        try:
            del loader.create_module
            import cove_figures
        except Exception:
            pass

    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    loader.create_module = create_module


try:
    _follow_pyplot()
except Exception:
    pass
del _follow_pyplot


def _may_be_copied():
    """Whether this interpreter, as it is now, may go on in several sandboxes: it has loaded nothing but what has no state
    of a process's own, like random numbers. A module that only names itself has none. Its hashes have one: each copy has
    a seed of its own, which can be given to those of this version only, and where no other kind of bytes or of set has them."""
    import sys

    if sys.version_info[:2] != (3, 11) or "PYTHONHASHSEED" in sys.modules["os"].environ:
        return False
    if any(kind.__subclasses__() for kind in (bytes, set, frozenset)):
        return False
    plain = _PLAIN.split()
    others = [module for name, module in [*sys.modules.items()] if name not in plain]
    if any(not name.startswith("__") for module in others for name in vars(module)):
        return False
    # It is loaded after this.
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    return finder.find_spec("usercustomize") is None


def _where_hashes_are():
    """The types of what has a hash that comes of the seed, or a table that is sorted by such: for hash_plan.cc."""
    texts = [str]
    for kind in texts:
        texts += kind.__subclasses__()
    return " ".join(["%x" % id(kind) for kind in (str, bytes, tuple, int, set, frozenset, *texts[1:])])


_PLAIN = """
__main__ _abc _codecs _collections _collections_abc _distutils_hack _frozen_importlib _frozen_importlib_external
_functools _imp _io _locale _operator _signal _sitebuiltins _sre _stat _string _thread _tracemalloc _warnings
_weakref _weakrefset abc apport_python_hook builtins codecs collections collections.abc contextlib copyreg encodings
encodings.aliases encodings.ascii encodings.latin_1 encodings.utf_8 enum errno functools genericpath heapq importlib
importlib._abc importlib._bootstrap importlib._bootstrap_external importlib.abc importlib.machinery importlib.util io
itertools keyword marshal operator os os.path posix posixpath re re._casefix re._compiler re._constants re._parser
reprlib site sitecustomize sre_compile sre_constants sre_parse stat sys time types warnings weakref zipimport
"""

try:
    _settle()
    if _may_be_copied():
        # Put together here, it is in the memory of those only that come to this line.
        __import__("sys").__interactivehook__.settled.mark = ": ".join(
            ("cove", "nothing here is of one process only; hashes of python 3.11", _where_hashes_are())
        )
except Exception:
    pass
del _settle, _may_be_copied, _where_hashes_are, _PLAIN
