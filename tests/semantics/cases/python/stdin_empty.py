import os
import stat
import sys

print(repr(sys.stdin.buffer.read()), stat.S_ISFIFO(os.fstat(0).st_mode))
try:
    input()
except EOFError as error:
    print(error)
