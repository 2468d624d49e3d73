import subprocess
import sys

print(subprocess.run(["cat"], input=b"through cat", capture_output=True))
print(subprocess.run("echo $0 $#; exit 3", shell=True, capture_output=True, text=True))
for command in (["surely-not-there"], ["/etc/passwd"]):
    try:
        subprocess.run(command)
    except OSError as error:
        print(type(error).__name__, error)
try:
    subprocess.run(["sleep", "30"], timeout=0.05)
except subprocess.TimeoutExpired as error:
    print(error.cmd)
try:
    subprocess.check_call([sys.executable, "-c", "raise SystemExit(9)"])
except subprocess.CalledProcessError as error:
    print(error.returncode)
print(subprocess.run(["kill -9 $$"], shell=True).returncode)
