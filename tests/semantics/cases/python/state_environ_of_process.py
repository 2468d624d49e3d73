import os

with open("/proc/self/environ", "rb") as file:
    seen = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if entry)
print(seen == dict(os.environb), sorted(seen))
