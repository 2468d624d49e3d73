import sys

print("é 日", sys.stdout.encoding, sys.stdout.errors)
