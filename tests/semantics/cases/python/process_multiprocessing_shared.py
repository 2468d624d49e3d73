import multiprocessing
from multiprocessing import shared_memory


def count(value, lock):
    for _ in range(500):
        with lock:
            value.value += 1


if __name__ == "__main__":
    value, lock = multiprocessing.Value("i", 0), multiprocessing.Lock()
    processes = [multiprocessing.Process(target=count, args=(value, lock)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    memory = shared_memory.SharedMemory(create=True, size=16)
    memory.buf[:3] = b"abc"
    other = shared_memory.SharedMemory(memory.name)
    print(value.value, bytes(other.buf[:3]))
    other.close()
    memory.close()
    memory.unlink()
