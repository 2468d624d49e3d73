import os
import shutil
import sys

print(sys.executable, os.environ["PATH"], shutil.which("python3"), os.environ["GREETING"])
