"""Servers of the world that are real programs: sshd with a git repository, and PostgreSQL."""

import glob
import os
import pwd
import subprocess
import time

from goods import NAME


class GitOverSsh:
    """As root, with a key of the test's own, at git.example.org:2222."""
    name = "ssh"
    command = (f"GIT_SSH_COMMAND='ssh -i /tmp/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/tmp/known -o LogLevel=ERROR' "
               f"git clone -q ssh://root@git.example.org:2222/www/git/{NAME}.git /tmp/ssh && grep -q 42 /tmp/ssh/src/lib.rs && echo fetched 42")

    def __init__(self, outside):
        self.outside = outside
        self.folder = outside.folder + "/ssh"

    def __enter__(self):
        os.mkdir(self.folder, 0o700)
        os.makedirs("/run/sshd", exist_ok=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{self.folder}/{key}"], check=True)
        os.rename(self.folder + "/user.pub", self.folder + "/authorized")
        with open(self.folder + "/authorized", "r+", encoding="utf-8") as file:
            key = file.read()
            file.seek(0)
            # The repository is where the world's folder is, whatever its name.
            file.write(f'restrict,command="cd {self.outside.folder} && git -c safe.directory=* upload-pack www/git/{NAME}.git" {key}')
        words = ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", "2222", "-h", self.folder + "/host", "-o",
                 f"AuthorizedKeysFile={self.folder}/authorized", "-o", "StrictModes=no", "-o", "UsePAM=no", "-o",
                 "PermitRootLogin=yes", "-o", "PidFile=none"]
        with open(self.folder + "/log", "wb") as log:
            self.process = subprocess.Popen(self.outside.in_world(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(self.folder + "/log", b"Server listening on")
        return self

    def prepare(self, sandbox):
        with open(self.folder + "/user", "rb") as file:
            sandbox.put("/tmp/key", file.read())
        sandbox.run("chmod", "600", "/tmp/key")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Database:
    """PostgreSQL, at db.example.org:5433."""
    name = "psql"
    command = "PGCONNECT_TIMEOUT=20 psql -h db.example.org -p 5433 -U world postgres -At -c \"select 'fetched ' || 42\""

    def __init__(self, outside):
        self.outside = outside
        self.folder = outside.folder + "/database"
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]

    def __enter__(self):
        user = pwd.getpwnam("postgres")
        os.mkdir(self.folder)
        os.chown(self.folder, user.pw_uid, user.pw_gid)
        as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "env", "LC_ALL=C.UTF-8"]
        subprocess.run(as_user + [self.programs + "/initdb", "-D", self.folder + "/data", "-U", "world", "-A", "trust", "-N"], check=True,
                       capture_output=True, cwd="/")
        with open(self.folder + "/data/pg_hba.conf", "a", encoding="utf-8") as file:
            file.write("host all all all trust\n")
        log_path = self.folder + "/log"
        with open(log_path, "wb") as log:
            words = as_user + [self.programs + "/postgres", "-D", self.folder + "/data", "-p", "5433", "-k", self.folder, "-c",
                               "listen_addresses=*", "-c", "fsync=off"]
            self.process = subprocess.Popen(self.outside.in_world(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        wait_for(log_path, b"ready to accept connections")
        return self

    def prepare(self, sandbox):
        pass

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def wait_for(path, words, patience=30):
    deadline = time.monotonic() + patience
    while True:
        with open(path, "rb") as file:
            said = file.read()
        if words in said:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{path}: {said.decode(errors='replace')}")
        time.sleep(0.05)
