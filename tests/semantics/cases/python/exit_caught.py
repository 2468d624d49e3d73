import sys

try:
    sys.exit("never mind")
except SystemExit as stop:
    print("caught", repr(stop), repr(stop.code))
