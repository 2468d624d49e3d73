import os
import sys

print("twice")
pid = os.fork()
if pid == 0:
    print("child")
    sys.exit(0)
os.waitpid(pid, 0)
print("parent")
