import fcntl
import os
import stat

for fd in range(3):
    print(stat.S_ISFIFO(os.fstat(fd).st_mode), oct(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE), os.get_blocking(fd),
          fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ))
