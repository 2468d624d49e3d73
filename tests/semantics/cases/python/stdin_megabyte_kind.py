import os
import stat
import sys

print(stat.S_ISFIFO(os.fstat(0).st_mode), sys.stdin.seekable(), sys.stdin.readline())
