import os

print(os.path.exists("/tmp/__pycache__"), "__cached__" in globals())
with open("/tmp/neighbour.py", "w") as file:
    file.write("value = 1\n")
import neighbour

print(neighbour.__cached__, os.listdir("/tmp/__pycache__"))
