import sys

with open("/tmp/neighbour.py", "w") as file:
    file.write("import __main__\nprint('loading', __name__, __file__)\nvalue = __main__.given\n")
given = 12
import neighbour

print(neighbour.value, neighbour.__spec__.origin, sys.path[0])
