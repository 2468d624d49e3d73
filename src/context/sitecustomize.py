"""Runs at the start of a Python that is to return its figures (see cove_figures.py). PYTHONPATH leads to it, and
MPLBACKEND is module://cove_figures. A script that chooses another backend would never load cove_figures, so it is
loaded behind pyplot. Then the sitecustomize of the image runs, which this one hides."""


def _follow_pyplot():
    """What is put in place has returned when a module is executed. Only pyplot's own tracebacks would show it: it has
    the file name by which Python leaves out what imports."""
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


def _run_hidden():
    """In the place of this module; what it raises, Python reports as it always does."""
    import sys

    here = __file__.rpartition("/")[0]
    bootstrap = sys.modules["_frozen_importlib"]
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    spec = finder.find_spec("sitecustomize", [folder for folder in sys.path if folder != here])
    if spec is not None and spec.loader is not None:
        module = bootstrap.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    _follow_pyplot()
except Exception:
    pass
_run_hidden()
