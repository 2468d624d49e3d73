import os
import signal

print(signal.getsignal(signal.SIGPIPE).name)
reader, writer = os.pipe()
os.close(reader)
try:
    os.write(writer, b"nobody reads")
except BrokenPipeError as error:
    print(error)
