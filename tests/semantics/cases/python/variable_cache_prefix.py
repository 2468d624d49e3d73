import sys

with open("/tmp/neighbour.py", "w") as file:
    file.write("")
import neighbour

print(sys.pycache_prefix, neighbour.__cached__)
