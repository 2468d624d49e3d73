import os

for action in (lambda: open("/nowhere/x", "w"), lambda: open("/usr/x", "w"),
               lambda: os.mkdir("/tmp"), lambda: os.rmdir("/tmp"), lambda: open("/tmp"), lambda: os.listdir("/root"),
               lambda: os.setuid(0), lambda: os.chown(__file__, 0, 0), lambda: os.kill(1, 9), lambda: os.nice(-1)):
    try:
        print(action())
    except OSError as error:
        print(type(error).__name__, error)
