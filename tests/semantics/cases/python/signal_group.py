import os
import signal
import subprocess

child = subprocess.Popen(["sleep", "60"])
print(os.getpgid(child.pid) == os.getpid() == os.getpgrp() == os.getsid(0), flush=True)
os.killpg(0, signal.SIGTERM)
