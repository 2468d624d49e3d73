import subprocess
import sys

if len(sys.argv) > 1:
    print("child", sys.argv[1:], __name__, sys.stdin.read())
    sys.exit(4)
print(subprocess.run([sys.executable, *sys.argv, "x y"], input="given", text=True, capture_output=True))
