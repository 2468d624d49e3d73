import os
import signal

reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)
signal.signal(signal.SIGUSR1, lambda number, frame: None)
signal.raise_signal(signal.SIGUSR1)
print(os.read(reader, 10))
