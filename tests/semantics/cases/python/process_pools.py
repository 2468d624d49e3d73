import concurrent.futures


def square(n):
    return n * n


if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print(list(pool.map(square, range(6))))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(sorted(future.result() for future in concurrent.futures.as_completed([pool.submit(square, n) for n in range(6)])))
