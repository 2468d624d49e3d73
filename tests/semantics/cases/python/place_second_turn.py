import os
import sys

with open("count", "a") as file:
    file.write("x")
print(os.path.getsize("count"), len(os.listdir("/tmp")), sorted(sys.modules))
