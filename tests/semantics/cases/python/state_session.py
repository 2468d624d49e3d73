import os

print(os.getpid() == os.getpgrp() == os.getsid(0))
try:
    open("/dev/tty")
except OSError as error:
    print(error)
try:
    os.tcgetpgrp(0)
except OSError as error:
    print(error)
