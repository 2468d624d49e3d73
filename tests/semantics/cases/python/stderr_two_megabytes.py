import sys

for number in range(200_000):
    print(f"{number:010}", file=sys.stderr)
