import subprocess
import sys

code = "file = open('left-open.txt', 'w'); file.write('flushed at the end')"
print(subprocess.run([sys.executable, "-c", code]).returncode, open("left-open.txt").read())
