import os

for action in (lambda: open("/nowhere/x", "w"), lambda: open("/usr/x", "w"),
               lambda: os.mkdir("/tmp"), lambda: os.rmdir("/tmp"), lambda: open("/tmp"), lambda: os.listdir("/root"),
               lambda: os.chown(__file__, 0, 0), lambda: os.nice(-1), lambda: os.readlink(__file__)):
    try:
        print(action())
    except OSError as error:
        print(type(error).__name__, error)
