import sys

print("system_wide" in sys.modules)
