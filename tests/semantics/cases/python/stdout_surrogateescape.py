import os
import sys

name = os.fsdecode(b"caf\xe9")
print(ascii(name))
print(name)
sys.stdout.buffer.write(os.fsencode(name) + b"\n")
