import os
import subprocess
import sys

for number in range(3):
    subprocess.run(["echo", "child", str(number)])
    print("parent", number)
os.system("echo shell; echo error >&2; exit 3")
print(os.popen("echo popen").read(), end="")
print(subprocess.run([sys.executable, "-c", "print('python')"], capture_output=True, text=True))
