import os
import sys

print(sys.stdin.isatty(), sys.stdout.isatty(), os.get_terminal_size(), os.ttyname(0) == os.ttyname(1))
print("to stderr", file=sys.stderr)
