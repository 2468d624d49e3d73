import os
import sys

reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(writer, f"child {os.getppid() != os.getpid()} {sys.argv == [__file__]}".encode())
    os._exit(0)
os.close(writer)
print(os.read(reader, 100), os.waitpid(pid, 0)[1])
