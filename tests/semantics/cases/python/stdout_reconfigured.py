import sys

sys.stdout.reconfigure(encoding="utf-16-le", newline="\r\n")
print("é")
