import sys

sys.stdout.write("0123456789" * 300_000)
