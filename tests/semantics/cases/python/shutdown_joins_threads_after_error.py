import threading


def work():
    threading.main_thread().join()
    print("the thread ends")


threading.Thread(target=work).start()
raise ValueError("main")
