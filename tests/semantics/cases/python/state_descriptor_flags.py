import fcntl
import os

for fd in range(3):
    print(fd, oct(fcntl.fcntl(fd, fcntl.F_GETFL)), fcntl.fcntl(fd, fcntl.F_GETFD), oct(os.fstat(fd).st_mode), os.get_blocking(fd))
