import os
import sys

print("first", end=" ")
os.write(1, b"second ")
sys.stdout.buffer.write(b"third ")
sys.stdout.write("fourth\n")
os.write(1, b"fifth\n")
