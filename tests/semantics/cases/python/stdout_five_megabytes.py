import sys

for number in range(5000):
    sys.stdout.write(f"{number:09} " + "x" * 989 + "\n")
