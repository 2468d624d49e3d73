import os
import pty

pid, master = pty.fork()
if pid == 0:
    os.execvp("sh", ["sh", "-c", "test -t 0 && echo a terminal"])
data = b""
try:
    while piece := os.read(master, 100):
        data += piece
except OSError:
    pass
print(data, os.waitpid(pid, 0)[1])
