"""Looks for a text in all that root inside can see: dump.py TEXT-IN-HEX. Prints where it is found."""

import os
import sys

wanted = bytes.fromhex(sys.argv[1])
SELF = str(os.getpid())


def memory(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            begin, end = (int(each, 16) for each in line.split()[0].split("-"))
            if "r" not in line.split()[1] or "[v" in line:
                continue
            try:
                mem.seek(begin)
                if wanted in mem.read(min(end - begin, 256 << 20)):
                    yield f"memory of {pid}: {line.strip()}"
            except (OSError, ValueError, OverflowError):
                pass


def files(top):
    for folder, names, each_file in os.walk(top):
        names[:] = [name for name in names if os.path.join(folder, name) not in ("/proc", "/sys", "/usr", "/dev")]
        for name in each_file:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        if wanted in file.read(64 << 20):
                            yield path
            except OSError:
                pass


found = list(files("/"))
seen = 0
for pid in filter(str.isdigit, os.listdir("/proc")):
    if pid == SELF:
        continue
    for name in ("environ", "cmdline"):
        try:
            with open(f"/proc/{pid}/{name}", "rb") as file:
                if wanted in file.read():
                    found.append(f"{name} of {pid}")
        except OSError:
            pass
    try:
        found += memory(pid)
        seen += 1
    except OSError:
        pass
print("\n".join(found))
print(f"looked at {seen} processes", file=sys.stderr)
