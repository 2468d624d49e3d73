import sys

with open("broken_module.py", "w") as file:
    file.write("x = 1\ndef f(:\n    pass\n")
sys.path.insert(0, "")
import broken_module
