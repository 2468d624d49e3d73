import importlib.util
import inspect
import marshal
import os
import subprocess
import sys

try:
    import sitecustomize
except ImportError:
    print("this Python has no such file")
    sys.exit()

print(sitecustomize.__file__, sitecustomize.__cached__, sitecustomize.__spec__.origin)
source = os.stat(sitecustomize.__file__)
with open(sitecustomize.__file__) as file:
    print(inspect.getsource(sitecustomize) == file.read())

with open(sitecustomize.__cached__, "rb") as file:
    magic, *numbers = (file.read(4) for _ in range(4))
    code = marshal.load(file)
flags, time, size = (int.from_bytes(number, "little") for number in numbers)
print(magic == importlib.util.MAGIC_NUMBER, flags, time == int(source.st_mtime), size == source.st_size)
print(code.co_filename, sitecustomize.__loader__.get_code("sitecustomize") == code)

command = [sys.executable, "-v", "-c", "pass"]
said = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
print([line for line in said if sitecustomize.__cached__ in line])
