import sys

try:
    sys.exit(5)
finally:
    print("finally")
    sys.exit(6)
