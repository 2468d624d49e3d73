import sys
import threading


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


sys.setrecursionlimit(30_000)
threading.stack_size(64 << 20)
thread = threading.Thread(target=lambda: print(down(20_000)))
thread.start()
thread.join()
