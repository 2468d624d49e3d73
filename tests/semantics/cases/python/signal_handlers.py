import os
import signal
import sys


def handle(number, frame):
    print("got", signal.Signals(number).name, "in", frame.f_code.co_name, "line", frame.f_lineno)


def send(number):
    os.kill(os.getpid(), number)
    return "sent"


for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGINT):
    before = signal.signal(number, handle)
    print(before if isinstance(before, signal.Handlers) else before.__name__, send(number))
try:
    signal.signal(signal.SIGKILL, handle)
except OSError as error:
    print(error)
sys.exit(0)
