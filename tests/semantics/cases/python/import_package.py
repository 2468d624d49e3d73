import os
import sys

os.makedirs("package/inner")
for path, text in {"__init__.py": "from .a import x\nprint('init', __name__, __path__)", "a.py": "x = 1",
                   "inner/__init__.py": "from ..a import x as y", "__main__.py": "print('main of', __package__, __name__)",
                   "data.txt": "some data"}.items():
    with open("package/" + path, "w") as file:
        file.write(text)
sys.path.insert(0, "")
import package.inner
import pkgutil
import runpy

print(package.inner.y, package.inner.__package__, pkgutil.get_data("package", "data.txt"))
runpy.run_module("package", run_name="__main__", alter_sys=True)
print([module.name for module in pkgutil.iter_modules(package.__path__)], __name__, sys.argv[0] == __file__)
