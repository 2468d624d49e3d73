import os
import stat
import sys

print(repr(sys.stdin.read()), sys.stdin.isatty())
mode = os.fstat(0).st_mode
print(stat.filemode(mode), stat.S_ISCHR(mode), stat.S_ISFIFO(mode))
