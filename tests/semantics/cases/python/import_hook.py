import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec


class Finder(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        return ModuleSpec(name, self) if name.startswith("dream") else None

    def exec_module(self, module):
        module.value = module.__name__ * 2


sys.meta_path.append(Finder())
import dream_of_it

print(dream_of_it.value)
