import sys
import zipfile

with zipfile.ZipFile("modules.zip", "w") as archive:
    archive.writestr("zipped.py", "def f():\n    raise ValueError(__file__)\n")
    archive.writestr("__main__.py", "print('main of the archive', __name__)")
sys.path.insert(0, "modules.zip")
import zipped

try:
    zipped.f()
except ValueError as error:
    print(error, zipped.__loader__.archive)
import subprocess

print(subprocess.run([sys.executable, "modules.zip"], capture_output=True, text=True))
