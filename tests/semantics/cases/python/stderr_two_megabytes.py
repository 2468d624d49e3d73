import sys

for number in range(20_000):
    print(f"{number:010}" + "." * 90, file=sys.stderr)
