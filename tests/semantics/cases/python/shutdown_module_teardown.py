import sys
import types

module = types.ModuleType("made_up")


class Witness:
    def __del__(self):
        print("witness:", sys.modules is not None, "made_up" in sys.modules if sys.modules else "no modules")


module.witness = Witness()
sys.modules["made_up"] = module
del module
print("end")
