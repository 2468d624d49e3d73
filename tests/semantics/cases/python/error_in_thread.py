import threading


def work():
    raise LookupError("in the thread")


thread = threading.Thread(target=work, name="worker-7")
thread.start()
thread.join()
print("the main thread goes on")
