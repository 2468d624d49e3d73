"""python_compile.py SOURCE NAME: prints SOURCE compiled, as Python keeps it beside a source: known by NAME, and valid as
long as the source has the size and the time that it has now (importlib, "timestamp-based")."""

import importlib.util
import marshal
import os
import sys

path, name = sys.argv[1:]
with open(path, "rb") as source:
    code = compile(source.read(), name, "exec", dont_inherit=True)
    state = os.fstat(source.fileno())
head = [number.to_bytes(4, "little") for number in (0, int(state.st_mtime) & 0xFFFFFFFF, state.st_size)]
sys.stdout.buffer.write(importlib.util.MAGIC_NUMBER + b"".join(head) + marshal.dumps(code))
