import os
import subprocess
import sys

for code in ("pass", "import sys; sys.exit(300)", "import sys; sys.exit(-2)", "import os; os.abort()", "1/0",
             "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    print(code, done.returncode, done.stderr)

pid = os.fork()
if pid == 0:
    os._exit(77)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
