import os
import sys

with open("/tmp/neighbour.py", "w") as file:
    file.write("")
import neighbour

print(sys.dont_write_bytecode, os.path.exists("/tmp/__pycache__"))
