import hashlib
import sys

data = sys.stdin.buffer.read()
print(data, hashlib.sha256(data).hexdigest())
