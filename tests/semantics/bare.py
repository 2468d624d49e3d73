"""Programs without a sandbox: the same interpreter, variables and kind of folder, as another user."""

import os
import random
import shlex
import string
import subprocess
import tempfile

from outcome import Outcome, masked, status_of

USER = 65534
HOME = "/home/user"
PATIENCE = 200  # seconds
OF_LANGUAGE = {".py": {"MPLBACKEND": "module://cove_figures", "PYTHONPATH": "/.cove/python"}}  # so that figures come back

# Its folders are its own, so that paths are those of a sandbox and cases do not meet. All of it becomes the program.
PRELUDE = f"""
set -e
mount -t tmpfs -o mode=1777 bare /tmp
mount -t tmpfs -o mode=755 bare /home
install -d -o {USER} -g {USER} {HOME}
pipes="/proc/self/fd/1 /proc/self/fd/2"
test ! -p /proc/self/fd/0 || pipes="$pipes /proc/self/fd/0"
chown {USER} $pipes # as those of an ordinary user
cd {HOME}
umask 022
ulimit -c 0
ulimit -S -n 1024
become() {{ exec setpriv --reuid {USER} --regid {USER} --clear-groups --no-new-privs --bounding-set -all --inh-caps -all env -i "$@"; }}
test -z "$3" || (become "PATH=$5" "HOME={HOME}" sh -c "$3" </dev/null >/dev/null 2>&1)
install -o {USER} -g {USER} -m 644 "$1" "$2"
cd "$4"
shift 5
become "$@"
"""


def make_id():
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=20))


def before_of(case):
    """Its files, too, are the user's own."""
    lines = [f"mkdir -p {shlex.quote(os.path.dirname(path))}; printf %s {shlex.quote(text)} >{shlex.quote(path)}"
             for path, text in case.files.items()]
    return "\n".join([*lines, case.before]).strip()


class Bare:
    """`env`: the variables of programs in a sandbox."""

    name = "bare"

    def __init__(self, env):
        self.env = env
        self.folder = tempfile.TemporaryDirectory(prefix="cove-semantics-bare-", dir="/var/tmp")

    def close(self):
        self.folder.cleanup()

    def run(self, case):
        id = make_id()
        staged = f"{self.folder.name}/{id}"
        with open(staged, "wb") as file:
            file.write(case.code.encode())
        os.chmod(staged, 0o644)
        path = f"/tmp/cove-{id}{case.extension}"
        env = self.env | OF_LANGUAGE.get(case.extension, {}) | case.sandbox.get("env", {}) | case.env
        if case.extension == ".py" and "PYTHONPATH" in case.env:
            env["PYTHONPATH"] = f"{OF_LANGUAGE['.py']['PYTHONPATH']}:{case.env['PYTHONPATH']}"
        variables = [f"{name}={value}" for name, value in env.items()]
        words = ["unshare", "--mount", "sh", "-c", PRELUDE, "sh", staged, path, before_of(case), case.order.get("cwd", HOME),
                 self.env["PATH"], *variables, case.interpreter, path]
        given = {"input": case.stdin} if case.stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run(words, **given, capture_output=True, timeout=PATIENCE, start_new_session=True)
        os.unlink(staged)
        signal = -done.returncode if done.returncode < 0 else None
        exit_code = None if signal else done.returncode
        return Outcome(status_of(exit_code, signal), exit_code, signal, masked(case, done.stdout, [id]),
                       masked(case, done.stderr, [id]))
