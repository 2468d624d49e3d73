import multiprocessing


def fails(n):
    if n == 2:
        raise ValueError(f"not {n}")
    return n


if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(pool.map(abs, range(-5, 5)), list(pool.imap(fails, [0, 1])))
        try:
            pool.map(fails, range(4))
        except ValueError as error:
            print(repr(error), type(error.__cause__).__name__)
