import signal
import sys
import time


def stop(number, frame):
    print("told to stop")
    sys.exit(3)


signal.signal(signal.SIGTERM, stop)
print("before")
time.sleep(60)
