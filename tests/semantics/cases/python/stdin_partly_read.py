import os
import sys

print(repr(os.read(0, 4)))
print(repr(sys.stdin.readline()))
print(repr(sys.stdin.read(3)), sys.stdin.buffer.peek(3)[:3])
