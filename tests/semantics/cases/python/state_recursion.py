import sys


def down(n):
    global deepest
    deepest = n
    down(n + 1)


print(sys.getrecursionlimit())
try:
    down(0)
except RecursionError as error:
    print(deepest, error)
sys.setrecursionlimit(250)
try:
    down(0)
except RecursionError as error:
    print(deepest, error)
try:
    sys.setrecursionlimit(1)
except (RecursionError, ValueError) as error:
    print(type(error).__name__, error)
