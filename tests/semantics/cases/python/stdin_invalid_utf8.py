import sys

text = sys.stdin.read()
print(ascii(text), sys.stdin.encoding, sys.stdin.errors)
sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
