import os
import subprocess

os.environ["ADDED"] = "1"
os.unsetenv("LANG")
del os.environ["TERM"]
print(subprocess.run(["env"], capture_output=True, text=True).stdout.split("ADDED")[1])
print("TERM" in os.environ, os.getenv("LANG"))
