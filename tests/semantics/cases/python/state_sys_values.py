import sys

for name in sorted(vars(sys)):
    value = getattr(sys, name)
    if isinstance(value, (bool, int, float, str, tuple, frozenset, type(None))) and name != "stdlib_module_names":
        print(name, value)
    else:
        print(name, type(value).__name__)
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(),
      sys.getdefaultencoding(), sys.gettrace(), sys.getprofile(), sys.is_finalizing(), sys.get_asyncgen_hooks(),
      sys.get_int_max_str_digits(), sys.getdlopenflags(), sys.get_coroutine_origin_tracking_depth())
