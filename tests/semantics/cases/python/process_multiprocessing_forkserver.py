import multiprocessing


def double(n):
    return 2 * n


if __name__ == "__main__":
    with multiprocessing.get_context("forkserver").Pool(1) as pool:
        print(pool.map(double, range(5)))
