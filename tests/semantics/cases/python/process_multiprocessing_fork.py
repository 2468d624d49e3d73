import multiprocessing
import os


def square(queue, n):
    queue.put((n * n, __name__, multiprocessing.current_process().name))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    processes = [context.Process(target=square, args=(queue, n)) for n in range(4)]
    for process in processes:
        process.start()
    print(sorted(queue.get() for _ in processes))
    for process in processes:
        process.join()
    print([process.exitcode for process in processes], multiprocessing.get_start_method(), os.path.basename(__file__) != "")
