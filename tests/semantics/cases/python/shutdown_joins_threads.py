import atexit
import threading

atexit.register(print, "at exit")


def work():
    threading.main_thread().join()
    print("the thread ends", threading.main_thread().is_alive())


threading.Thread(target=work).start()
print("the main thread ends")
