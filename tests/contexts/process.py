"""Child processes of a worker, which has no threads and may fork. Whatever they leave behind comes to the worker and is
ended by it."""

import ctypes
import os
import select
import signal
import tempfile

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def children_of_this():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(word) for word in file.read().split()]


def end_children(spared=()):
    """All, with those that become children by the end of others."""
    while left := [child for child in children_of_this() if child not in spared]:
        for child in left:
            os.kill(child, signal.SIGKILL)
        for child in left:
            os.waitpid(child, 0)


class Process:
    """A session of its own, with pipes. `body` is what the child does, and does not return from."""

    def __init__(self, body, folder):
        requests, stdin = os.pipe()
        stdout, answers = os.pipe()
        self.complaints_file = tempfile.TemporaryFile()
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            self._be_child(body, folder, requests, answers)
        os.close(requests)
        os.close(answers)
        self.stdin = os.fdopen(stdin, "wb")
        self.stdout = os.fdopen(stdout, "rb")

    def _be_child(self, body, folder, requests, answers):
        try:
            os.setsid()
            os.chdir(folder)
            for number, descriptor in enumerate((requests, answers, self.complaints_file.fileno())):
                os.dup2(descriptor, number)
            os.closerange(3, 256)
            body()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(70)

    def complaints(self):
        """What it has written to its stderr."""
        self.complaints_file.seek(0)
        return self.complaints_file.read().decode(errors="replace")

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, seconds=20):
        """Its exit code; None where it has not ended in that time."""
        if self.returncode is None:
            descriptor = os.pidfd_open(self.pid)
            try:
                if not select.select([descriptor], [], [], seconds)[0]:
                    return None
                self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            finally:
                os.close(descriptor)
        return self.returncode

    def close_input(self):
        try:
            self.stdin.close()
        except BrokenPipeError:
            pass

    def close(self):
        """Ends it as the server would, killing it where it does not end by itself."""
        self.close_input()
        if self.wait(0 if self.stdout.closed else 5) is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()
        self.stdout.close()


