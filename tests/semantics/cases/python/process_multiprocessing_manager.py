import multiprocessing


def add(shared, key):
    shared[key] = key * 2


if __name__ == "__main__":
    with multiprocessing.Manager() as manager:
        shared = manager.dict()
        processes = [multiprocessing.Process(target=add, args=(shared, n)) for n in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        print(sorted(shared.items()))
