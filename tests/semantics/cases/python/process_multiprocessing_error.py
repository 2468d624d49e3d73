import multiprocessing


def work():
    raise KeyError("in the process")


if __name__ == "__main__":
    process = multiprocessing.Process(target=work, name="wrong")
    process.start()
    process.join()
    print(process.exitcode)
