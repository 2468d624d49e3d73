"""Gone."""
import sys

assert False, "not checked"
print(__debug__, __doc__, sys.flags.optimize)
