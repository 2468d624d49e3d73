import sys


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


sys.setrecursionlimit(60_000)
print(down(50_000))
