import sys

print(repr(input("> ")))
print(repr(sys.stdin.readline()))
for line in sys.stdin:
    print(repr(line))
print(repr(sys.stdin.read()))
