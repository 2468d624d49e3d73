import os
import signal

try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt as interrupt:
    print("caught", repr(interrupt))
