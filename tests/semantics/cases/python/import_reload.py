import importlib
import sys

sys.dont_write_bytecode = True
with open("/tmp/changing.py", "w") as file:
    file.write("value = 1")
import changing

print(changing.value)
with open("/tmp/changing.py", "w") as file:
    file.write("value = 'another'")
importlib.invalidate_caches()
print(importlib.reload(changing).value)
try:
    importlib.reload(sys.modules["__main__"])
except Exception as error:
    print(type(error).__name__, error)
