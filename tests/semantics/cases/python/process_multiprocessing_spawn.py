import multiprocessing
import sys


def square(n):
    return n * n, __name__, sys.modules["__main__"].__name__, "__mp_main__" in sys.modules


print("loaded as", __name__)
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, range(3)))
