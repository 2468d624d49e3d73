"""A server of its own for a test: its programs, its state folder, its traces on the machine."""

import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("coved", "cove-spawn", "cove-init", "cove-sudo", "cove-unpack")
START_PATIENCE = 60
EXIT_PATIENCE = 30
# Seconds for which a connection is kept without use: well below those after which the server closes it (idle_patience).
KEPT_IDLE = 30


class ServerGone(Exception):
    """The connection broke or could not be made: whether the request was done is not known."""


class Answer:
    def __init__(self, status, headers, data):
        self.status = status
        self.headers = headers
        self.data = data

    def json(self):
        return json.loads(self.data) if self.data else None

    def __str__(self):
        return f"{self.status} {self.data[:300].decode(errors='replace')}"


class UnixConnection(http.client.HTTPConnection):
    """Sends each request at once: on a busy machine long may pass between a head and its body."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path
        self.pieces = []

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)

    def send(self, data):
        self.pieces.append(data)

    def request(self, *words, **named):
        self.pieces = []
        super().request(*words, **named)
        if not self.sock:
            self.connect()
        self.sock.sendall(b"".join(self.pieces))


class Client:
    """One connection, kept open. For one thread."""

    def __init__(self, path, timeout=60):
        self.path = path
        self.timeout = timeout
        self.connection = None
        self.used = 0.0  # when the last answer came

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def call(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        if time.monotonic() - self.used > KEPT_IDLE:
            self.close()
        try:
            if not self.connection:
                self.connection = UnixConnection(self.path, self.timeout)
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
            data = response.read()
            self.used = time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ServerGone(f"{method} {path}: {error!r}") from error
        if response.will_close:
            self.close()
        return Answer(response.status, dict(response.getheaders()), data)

    def expect(self, status, method, path, body=None, headers=None):
        answer = self.call(method, path, body, headers)
        allowed = status if isinstance(status, tuple) else (status,)
        if answer.status not in allowed:
            raise AssertionError(f"{method} {path}: {answer}, expected {status}")
        return answer


def copy_programs(build):
    """Into a folder of the test's own, so that a build beside it does not disturb."""
    folder = tempfile.mkdtemp(prefix="cove-crash-programs-")
    os.chmod(folder, 0o755)
    for name in PROGRAMS:
        shutil.copy(os.path.join(build, name), folder)
    return folder


def mark_of(folder):
    """Of the control groups of sandboxes whose sockets lie in this folder (walls.cc, mark_of)."""
    value = 2166136261
    for byte in folder.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return f"{value:08x}"


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def listing(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


# Sandboxes kept ready; where there are any, as many may be there without anybody having asked for them, and two more
# that are being made.
# A setting: what a sandbox has on the machine goes with it.
KEEP_NO_EXECS = "retention.execs=0"
POOL = int(os.environ.get("COVE_TEST_POOL", "0"))
MAKING = 2


class Server:
    """Root's, or an ordinary user's."""

    def __init__(self, programs, settings=(), uid=None, within=()):
        self.programs = programs
        self.uid = uid
        self.within = list(within)  # words before the command, such as `nsenter`'s
        self.settings = [f"pool.size={POOL}"] + list(settings)
        self.folder = tempfile.mkdtemp(prefix="cove-crash-")
        os.chmod(self.folder, 0o755)
        if uid:
            os.chown(self.folder, uid, uid)
        self.state = self.folder + "/state"
        self.socket = self.folder + "/api.sock"
        self.log = self.folder + "/log"
        self.process = None
        self.env = {}  # variables beside the usual ones

    def client(self, timeout=60):
        return Client(self.socket, timeout)

    # --- start and end ---

    def start(self, crash_at=None):
        """True when it serves; False when it ended before it did."""
        reader, writer = os.pipe()
        env = {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "COVE_STATE": self.state, **self.env}
        if crash_at:
            env["COVE_CRASH_AT"] = crash_at
        words = [self.programs + "/cove-spawn", "serve", "--ready-fd", str(writer)]
        for setting in [f"listen=unix:{self.socket}"] + self.settings:
            words += ["--set", setting]
        if self.uid:
            words = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"] + words
            env |= {"HOME": self.folder, "XDG_RUNTIME_DIR": self.folder}
        words = self.within + words
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(words, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=[writer], start_new_session=True)
        os.close(writer)
        said = self._read_word(reader)
        # Whoever crashes may do so while it takes over.
        if said.startswith("error") and not crash_at:
            raise AssertionError(f"the server does not start: {said}")
        return said.startswith("ready")

    def _read_word(self, reader):
        with os.fdopen(reader, "rb", buffering=0) as pipe:
            if not select.select([pipe], [], [], START_PATIENCE)[0]:
                raise AssertionError(f"the server is not ready after {START_PATIENCE} s")
            return pipe.read(4096).decode()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def coved(self):
        """The number of the process, or None."""
        for pid in read(f"/proc/{self.process.pid}/task/{self.process.pid}/children").split():
            if read(f"/proc/{int(pid)}/cmdline").startswith(b"coved\0"):
                return int(pid)
        return None

    def kill(self, which):
        """'coved', 'cove-spawn' or 'both'. What is left alone must end by itself."""
        coved = self.coved()
        if which != "cove-spawn" and coved:
            self._kill(coved)
        if which != "coved":
            self._kill(self.process.pid)
        self.wait_for_end(coved)

    @staticmethod
    def _kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def wait_for_end(self, coved=None):
        """Of both processes, after one was killed; how the server ended, as a shell says it."""
        until = time.monotonic() + EXIT_PATIENCE
        status = self.process.wait(EXIT_PATIENCE)
        while self.holders_of_state(coved) and time.monotonic() < until:
            time.sleep(0.005)
        if left := self.holders_of_state(coved):
            raise AssertionError(f"coved ({left}) goes on without cove-spawn for more than {EXIT_PATIENCE} s")
        return status

    def holders_of_state(self, coved):
        if coved:
            return [coved] if read(f"/proc/{coved}/cmdline").startswith(b"coved\0") else []
        mine = f"unix:{self.socket}".encode()
        return [int(pid) for pid in os.listdir("/proc")
                if pid.isdigit() and (line := read(f"/proc/{pid}/cmdline")).startswith(b"coved\0") and mine in line]

    def stop(self):
        """As an administrator does."""
        if not self.running():
            return
        coved = self.coved()
        self.process.terminate()
        status = self.wait_for_end(coved)
        if status != 0:
            raise AssertionError(f"the server ended with {status} when it was asked to")

    def remove(self):
        self.end_sandboxes()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end_sandboxes(self):
        """By force, without the server: after a failure, so that the machine is as it was."""
        if self.running():
            self.kill("both")
        for pid in self._process_ones():
            self._kill(pid)
        until = time.monotonic() + EXIT_PATIENCE
        while self._process_ones() and time.monotonic() < until:
            time.sleep(0.02)
        for folder in self._group_folders():
            for path, _, _ in os.walk(folder, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    pass  # a process that does not end

    # --- what it leaves on the machine ---

    def traces(self):
        """What sandboxes have outside of the database, by kind: the ids of those that have it."""
        return {"socket": set(listing(self.state + "/run")), "group": self._groups(), "process 1": self._processes(),
                "logs": set(listing(self.state + "/server/logs")), "layer": self._layers()}

    def _groups(self):
        return {os.path.basename(folder).split("-", 2)[2] for folder in self._group_folders()}

    def _group_folders(self):
        prefix = f"cove-{mark_of(self.state + '/run')}-"
        found = []
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            found += [f"{folder}/{name}" for name in names if name.startswith(prefix)]
            names[:] = [name for name in names if not name.startswith("cove-")]
        return found

    def _processes(self):
        return set(self._process_ones().values())

    def _process_ones(self):
        """Whoever holds a socket that was bound in the run folder, and is the first of its namespace: pid and id of the sandbox."""
        bound = {}
        for line in self._unix_sockets().splitlines():
            words = line.split()
            if len(words) == 8 and words[7].startswith(self.state + "/run/"):
                bound[f"socket:[{words[6]}]"] = os.path.basename(words[7])
        found = {}
        for pid in os.listdir("/proc") if bound else []:
            if pid.isdigit() and self._is_first(pid):
                found |= {int(pid): bound[link] for link in self._links(pid) if link in bound}
        return found

    def _unix_sockets(self):
        """Those of the server's network."""
        if not self.within:
            return read("/proc/net/unix").decode(errors="replace")
        return subprocess.run(self.within + ["cat", "/proc/net/unix"], capture_output=True, text=True, check=False).stdout

    @staticmethod
    def _is_first(pid):
        numbers = re.search(rb"^NSpid:(.*)$", read(f"/proc/{pid}/status"), re.M)
        return numbers is not None and len(numbers[1].split()) > 1 and numbers[1].split()[-1] == b"1"

    @staticmethod
    def _links(pid):
        for fd in listing(f"/proc/{pid}/fd"):
            try:
                yield os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError:
                pass

    def loops(self):
        found = []
        for name in listing("/sys/block"):
            backing = read(f"/sys/block/{name}/loop/backing_file").decode(errors="replace")
            if backing.startswith(self.state + "/"):
                found.append(f"/dev/{name}")
        return found

    def _layers(self):
        found = set(listing(self.state + "/layers"))
        for device in self.loops()[:1]:
            place = tempfile.mkdtemp(prefix="cove-crash-pool-")
            try:
                if subprocess.run(["mount", "-t", "btrfs", "-o", "subvolid=5,ro", device, place], capture_output=True).returncode and \
                   subprocess.run(["mount", "-t", "btrfs", "-o", "subvolid=5", device, place], capture_output=True).returncode:
                    continue
                found |= set(listing(place + "/long")) | set(listing(place + "/run"))
                subprocess.run(["umount", place], check=True)
            finally:
                os.rmdir(place)
        return found

    def mounts(self):
        return [line for line in read("/proc/self/mountinfo").decode().splitlines()
                if self.state in line or any(device in line for device in self.loops())]

    def programs_left(self):
        """Processes of this copy of the programs; the server itself must have ended."""
        left = []
        for pid in os.listdir("/proc"):
            if not pid.isdigit():
                continue
            try:
                program = os.readlink(f"/proc/{pid}/exe")
            except OSError:
                continue
            if program.startswith(self.programs + "/"):
                left.append(f"{pid} {program}")
        return left

    def wait_for_traces(self, expected, patience=20):
        """`expected`: for each kind a pair of those that must and those that may have it. Returns what is wrong."""
        until = time.monotonic() + patience
        while True:
            wrong = []
            for kind, there in self.traces().items():
                must, may = expected[kind]
                wrong += [f"{kind} of {id} is missing" for id in sorted(must - there)]
                unknown = sorted(there - must - may)
                if not POOL or len(unknown) > 2 * POOL + MAKING:
                    wrong += [f"{kind} of {id} is left over" for id in unknown]
            if not wrong or time.monotonic() > until:
                return wrong
            time.sleep(0.05)

    def wait_for_nothing(self, patience=20):
        """After the server has ended, without sandboxes. Returns what is left."""
        until = time.monotonic() + patience
        while True:
            left = [f"{kind} of {id}" for kind, ids in self.traces().items() for id in sorted(ids)]
            left += [f"loop device {device}" for device in self.loops()]
            left += [f"mount {line}" for line in self.mounts()]
            left += [f"process {line}" for line in self.programs_left()]
            left += ["the pool's image"] if os.path.exists(self.state + "/pool.img") else []
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.05)
