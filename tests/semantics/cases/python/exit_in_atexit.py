import atexit
import sys

atexit.register(print, "registered first, called last")
atexit.register(sys.exit, 8)
print("end")
