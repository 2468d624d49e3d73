import os

for name in sorted(os.listdir("/proc/self/fd"), key=int):
    try:
        print(name, os.readlink(f"/proc/self/fd/{name}"), os.get_inheritable(int(name)))
    except OSError as error:
        print(name, error.strerror)
print(os.open("/dev/null", os.O_RDONLY))
