import os
import sys

with open("bad.py", "wb") as file:
    file.write(b"print('first')\nprint('caf\xe9')\n")
os.execv(sys.executable, [sys.executable, "bad.py"])
