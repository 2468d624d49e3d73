import sys

main = sys.modules["__main__"]
print(repr(main), main.__dict__ is globals(), sorted(vars(main)))
