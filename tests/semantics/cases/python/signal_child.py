import os
import signal

got = []
signal.signal(signal.SIGCHLD, lambda number, frame: got.append(number))
if os.fork() == 0:
    os._exit(3)
print(os.wait()[1] >> 8, [signal.Signals(number).name for number in got])
