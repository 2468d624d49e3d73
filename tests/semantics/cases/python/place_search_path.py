# A program of that name in the first folder of PATH is the one that is run.
import sys

print(sys._xoptions, sys.orig_argv[1:3])
