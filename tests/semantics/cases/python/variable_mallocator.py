import sys

print("debugged", sys.flags.dev_mode)
