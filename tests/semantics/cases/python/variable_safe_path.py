import sys

print(sys.path, sys.flags.safe_path)
