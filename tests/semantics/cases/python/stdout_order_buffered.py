import os
import sys

print("first")
os.write(1, b"second\n")
sys.stdout.flush()
os.write(1, b"third\n")
print(sys.stdout.line_buffering, sys.stdout.write_through)
