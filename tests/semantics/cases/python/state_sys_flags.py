import sys

print(sys.flags, sys._xoptions, sys.dont_write_bytecode, sys.pycache_prefix, sys.flags.hash_randomization)
