import atexit
import os
import sys

atexit.register(print, "never printed")
sys.stdout.write("flushed ")
sys.stdout.flush()
try:
    os._exit(5)
finally:
    print("never printed either")
