import threading
import time

started = threading.Event()


def forever():
    started.set()
    while True:
        time.sleep(0.001)


threading.Thread(target=forever, daemon=True).start()
started.wait()
print("end")
