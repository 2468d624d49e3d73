import multiprocessing
import os


def work():
    print("never printed")


if __name__ == "__main__":
    os.unlink(__file__)
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
    print(process.exitcode)
