import os
import sys

sys.stderr.write("first ")
os.write(2, b"second ")
print("third", file=sys.stderr)
sys.stderr.buffer.write(b"fourth\n")
