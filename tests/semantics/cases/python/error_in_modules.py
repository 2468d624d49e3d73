import importlib.machinery
import os
import sys
import traceback

# matplotlib.pyplot is a name that is looked for when modules are loaded.
os.mkdir("matplotlib")
modules = {"outer.py": "import inner", "inner.py": "1 / 0", "lacks.py": "import surely_not_there", "broken.py": "f(:",
           "stack.py": "import traceback\ntraceback.print_stack()", "matplotlib/__init__.py": "import stack",
           "matplotlib/pyplot.py": "import stack\nimport outer"}
for path, text in modules.items():
    with open(path, "w") as file:
        file.write(text)
sys.path.insert(0, "")


def load(how):
    try:
        exec(how)
    except Exception:
        traceback.print_exc()


for name in ("outer", "lacks", "broken"):
    load(f"import {name}")
    load(f"importlib.import_module('{name}')")
load("import matplotlib.pyplot")
load("from matplotlib import pyplot")

with open("inner.py", "w") as file:
    file.write("value = 'mended'")
importlib.invalidate_caches()
import matplotlib.pyplot

print(sorted(name for name in sys.modules if name.startswith(("cove", "matplotlib"))), vars(matplotlib.pyplot.__loader__))
print(dir(importlib.machinery.SourceFileLoader), importlib.reload(matplotlib.pyplot))
matplotlib.pyplot.outer.inner.missing
