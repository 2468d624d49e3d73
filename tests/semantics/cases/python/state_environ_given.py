import ctypes
import os
import subprocess

print(os.environ["GREETING"], repr(os.environ["EMPTY"]), os.environ["WORDS"], os.path.expanduser("~"))
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"GREETING"), getenv(b"EMPTY"), getenv(b"NOTHING"))
print(subprocess.run(["sh", "-c", "echo $GREETING $WORDS $HOME"], capture_output=True, text=True).stdout)
print(sorted(line for line in open("/proc/self/environ").read().split("\0") if line.startswith(("GREETING", "EMPTY", "HOME"))))
