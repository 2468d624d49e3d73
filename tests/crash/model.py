"""What a client knows: what it was told is done, and what may or may not be. And the look at whether it holds."""

import json
import os
import random
import shutil
import sqlite3
import tempfile
import threading
import time

from server import ServerGone

LIMITS = {"memory": "64m", "disk": "64m", "processes": 64}
CALL_PATIENCE = 20
END_PATIENCE = 90  # seconds for programs that were left to run


class Exec:
    """A program that prints numbered lines, `TAG o 0`, `TAG o 1` …, and ends with a code of its own."""

    def __init__(self, tag, out_lines, err_lines, pace, code, terminal=False):
        self.tag = tag
        self.counts = {"stdout": out_lines, "stderr": err_lines}
        self.pace = pace
        self.code = code
        self.terminal = terminal  # what a server that is killed had just read from one is lost
        self.id = None
        self.acknowledged = False
        self.session = None   # that it runs in
        self.may_die = False  # somebody asked for the end of its sandbox, or of its session
        self.done = False     # its end was seen, and was right

    def body(self):
        if self.pace:
            loop = f"i=0; while [ $i -lt {self.counts['stdout']} ]; do echo \"{self.tag} o $i\"; i=$((i+1)); sleep {self.pace}; done"
        else:
            loop = f"seq -f '{self.tag} o %.0f' 0 {self.counts['stdout'] - 1}"
        if self.counts["stderr"]:
            loop += f"; seq -f '{self.tag} e %.0f' 0 {self.counts['stderr'] - 1} >&2"
        body = {"argv": ["sh", "-c", f"{loop}; exit {self.code}"], "tag": self.tag, "stdin": None}
        return {**body, "pty": {"rows": 24, "cols": 80}} if self.terminal else body

    def expected(self, stream):
        letter = stream[3]  # stdOut, stdErr
        return "".join(f"{self.tag} {letter} {i}\n" for i in range(self.counts[stream]))


def make_exec(tag):
    kind = random.choices(range(6), [4, 4, 4, 1, 2, 4])[0]
    code = random.randrange(100)
    if kind == 0:
        return Exec(tag, random.randrange(1, 40), 0, random.choice(["0.01", "0.03"]), code)
    if kind == 1:  # more than a pipe holds
        return Exec(tag, random.randrange(5000, 20000), 0, None, code)
    if kind == 2:
        return Exec(tag, random.randrange(1, 3000), random.randrange(1, 3000), None, code)
    if kind == 3:  # more than a result holds
        return Exec(tag, 200000, 0, None, code)
    if kind == 4:
        return Exec(tag, random.randrange(1, 40), 0, "0.01", code, terminal=True)
    return Exec(tag, 1, 0, None, code)


class Sandbox:
    def __init__(self, name):
        self.name = name
        self.key = "key-" + name
        self.body = {"name": name, "labels": {"test": "crash"}, "limits": LIMITS}
        self.id = None
        self.fate = "wanted"  # wanted, there, going, gone
        self.states = {"running"}
        self.files = {}  # path: the contents it may have; None where it may be missing
        self.execs = []


class Session:
    """Knows itself again by a label: its start has no key."""

    def __init__(self, name, scope, agent):
        self.name = name
        self.scope = scope
        self.binding = {"session": f"session {name}", "agent": f"agent {agent}", "shared": "shared"}[scope]
        self.body = {"scope": scope, "agent": agent, "labels": {"crash": name}, "limits": LIMITS}
        self.id = None
        self.fate = "wanted"  # wanted, there, going, gone
        self.bound = False    # its sandbox was seen


class BoundSandbox(Sandbox):
    """One that nobody created: the first use of a scope makes it."""

    def __init__(self, session):
        super().__init__("of " + session.binding)
        self.binding = session.binding
        self.labels = {"cove.scope": session.scope}
        if session.scope != "shared":
            self.labels["cove.agent"] = session.body["agent"]
        if session.scope == "session":
            self.labels |= {"cove.session": session.id, **session.body["labels"]}
        self.body = {"name": None, "labels": self.labels}


class Model:
    """Safe for threads: each sandbox has one thread that changes it, besides execs and files of the common ones."""

    def __init__(self, folder):
        self.lock = threading.Lock()
        self.sandboxes = {}
        self.sessions = {}
        self.gone = set()   # ids of those that were deleted, and seen to be
        self.keys = {}      # id: whether it was revoked ("no", "maybe", "yes")
        self.projects = {}  # id: the quotas that it may have; None where it may be missing
        self.events = []    # (kind, sandbox, exec) that must be on the stream
        self.session_events = []  # (kind, session), too
        self.journal_path = os.path.join(folder, "journal")
        self.journal = os.open(self.journal_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.counter = 0
        self.acknowledged = 0
        self.verified_execs = 0

    def number(self):
        with self.lock:
            self.counter += 1
            return self.counter

    def note(self, what, **details):
        """An answer has come: on disk before anything else is asked for."""
        line = json.dumps({"what": what, **details}) + "\n"
        with self.lock:
            os.write(self.journal, line.encode())
            os.fsync(self.journal)
            self.acknowledged += 1

    def expect_event(self, kind, sandbox="", exec=""):
        with self.lock:
            self.events.append((kind, sandbox, exec))

    def expect_session_event(self, kind, session):
        with self.lock:
            self.session_events.append((kind, session.id))

    def saw_bound(self, session, id):
        """The sandbox that serves it is this one. Others may be told at the same time; all must be told the same."""
        sandbox = self.sandbox_of(session)
        with self.lock:
            is_new = sandbox.id is None
            if is_new:
                sandbox.id, sandbox.fate = id, "there"
        if is_new:
            self.expect_event("sandbox.created", id)
        if not session.bound:
            self.expect_session_event("session.bound", session)
        session.bound = True
        return sandbox.id

    def add(self, sandbox):
        with self.lock:
            self.sandboxes[sandbox.name] = sandbox
        return sandbox

    def add_session(self, session):
        with self.lock:
            self.sessions[session.name] = session
        return session

    def all_sessions(self):
        with self.lock:
            return list(self.sessions.values())

    def sandbox_of(self, session):
        """The one that serves it, whether it is there yet or not."""
        with self.lock:
            name = "of " + session.binding
            if name not in self.sandboxes:
                self.sandboxes[name] = BoundSandbox(session)
            return self.sandboxes[name]

    def let_go(self, sandbox):
        with self.lock:
            self.gone.add(sandbox.id)
            del self.sandboxes[sandbox.name]

    def all(self):
        with self.lock:
            return list(self.sandboxes.values())

    def there(self):
        return [sandbox for sandbox in self.all() if sandbox.fate == "there"]


class Verifier:
    """Looks at a server that has just come back; nobody else uses it meanwhile. Collects what is wrong."""

    def __init__(self, model, server):
        self.model = model
        self.server = server
        self.client = server.client()
        self.wrong = []

    def complain(self, text):
        self.wrong.append(text)

    def verify(self):
        self.wait_for_calls()
        self.resolve_sessions()
        self.resolve_creates()
        self.look_at_sandboxes()
        for sandbox in self.model.there():
            self.look_at_files(sandbox)
            self.look_at_execs(sandbox)
        self.look_at_keys()
        self.look_at_projects()
        self.look_at_traces()
        self.client.close()
        return self.wrong

    # --- sandboxes ---

    def list(self):
        found, after = {}, ""
        while True:
            page = self.client.expect(200, "GET", f"/v1/sandboxes?limit=1000{after}").json()
            for sandbox in page["items"]:
                if sandbox["id"] in found:
                    self.complain(f"sandbox {sandbox['id']} is listed twice")
                found[sandbox["id"]] = sandbox
            if not page["next"]:
                return found
            after = "&after=" + page["next"]

    def resolve_creates(self):
        """What a client does that got no answer: it asks again, with the same key."""
        by_name = {}
        for sandbox in self.list().values():
            if sandbox["name"] and sandbox["name"] in by_name:
                self.complain(f"there are two sandboxes {sandbox['name']}")
            by_name[sandbox["name"]] = sandbox["id"]
        for sandbox in self.model.all():
            if sandbox.fate not in ("wanted", "there") or isinstance(sandbox, BoundSandbox):
                continue
            answer = self.client.call("POST", "/v1/sandboxes", sandbox.body, {"Idempotency-Key": sandbox.key})
            if answer.status not in (200, 201):
                self.complain(f"create of {sandbox.name}, repeated: {answer}")
                continue
            made = answer.json()["id"]
            before = sandbox.id or by_name.get(sandbox.name)
            if before and made != before:
                self.complain(f"create of {sandbox.name}, repeated, made {made}; it is {before}")
            if sandbox.fate == "wanted":
                self.model.expect_event("sandbox.created", made)
            sandbox.id = made
            sandbox.fate = "there"

    # --- sessions ---

    def wait_for_calls(self):
        """Sandboxes of calls that a killed server did not answer: they go by themselves."""
        until = time.monotonic() + CALL_PATIENCE
        while left := [id for id, there in self.list().items() if not there["name"] and not there["labels"]]:
            if time.monotonic() > until:
                return self.complain(f"sandboxes of calls that nobody waits for are left: {left}")
            time.sleep(0.02)
        return None

    def list_sessions(self):
        found, after = {}, ""
        while True:
            page = self.client.expect(200, "GET", f"/v1/sessions?state=active&limit=1000{after}").json()
            for session in page["items"]:
                if session["labels"]["crash"] in found:
                    self.complain(f"session {session['labels']['crash']} is listed twice")
                found[session["labels"]["crash"]] = session
            if not page["next"]:
                return found
            after = "&after=" + page["next"]

    def resolve_sessions(self):
        found = self.list_sessions()
        for session in self.model.all_sessions():
            there = found.pop(session.name, None)
            if session.fate == "wanted" and there:
                session.id, session.fate = there["id"], "there"
                self.model.expect_session_event("session.started", session)
            if session.fate == "there":
                self.look_at_session(session, there)
            elif session.fate == "going":
                self.finish_session(session)
            elif there:
                self.complain(f"session {session.name} {session.id} was ended, and is active")
            if session.fate in ("wanted", "gone"):
                del self.model.sessions[session.name]
        for there in found.values():
            self.complain(f"session {there['id']} was ended or never asked for, and is active")

    def look_at_session(self, session, there):
        """It goes on in the sandbox that it had, or gets the one that was about to be made."""
        if not there or there["id"] != session.id or there["scope"] != session.scope:
            return self.complain(f"session {session.name} {session.id} was acknowledged, and is {there}")
        sandbox = self.model.sandboxes.get("of " + session.binding)
        if not sandbox:
            if session.scope == "session" and there["sandbox_id"]:
                self.complain(f"session {session.name} was not used, and has sandbox {there['sandbox_id']}")
            return None
        made = [id for id, one in self.list().items() if one["labels"] == sandbox.labels]
        body = {"argv": ["true"], "stdin": None}
        answer = self.client.call("POST", f"/v1/sessions/{session.id}/execs?wait=true", body)
        if answer.status != 200 or answer.json()["exit_code"] != 0:
            return self.complain(f"true in session {session.name} ({session.scope}): {answer}")
        used = answer.json()["sandbox_id"]
        if self.model.saw_bound(session, used) != used or made and made != [used]:
            self.complain(f"session {session.name} uses {used}; {sandbox.name} was {sandbox.id}, there were {made}")
        return None

    def finish_session(self, session):
        """Its end was asked for, and not acknowledged: asked for again."""
        answer = self.client.call("DELETE", f"/v1/sessions/{session.id}")
        if answer.status != 204:
            self.complain(f"end of session {session.name}, repeated: {answer}")
        self.look_at_end(session)

    def look_at_end(self, session):
        session.fate = "gone"
        self.model.expect_session_event("session.ended", session)
        there = self.client.expect(200, "GET", f"/v1/sessions/{session.id}").json()
        if there["state"] != "ended":
            self.complain(f"session {session.name} was ended, and is {there}")
        if self.client.call("POST", f"/v1/sessions/{session.id}/execs", {"argv": ["true"]}).status != 409:
            self.complain(f"session {session.name} was ended, and can be used")
        sandbox = self.model.sandboxes.get("of " + session.binding)
        if session.scope == "session" and sandbox:
            sandbox.fate = "gone" if sandbox.id else "never"
            if sandbox.id:
                self.model.expect_event("sandbox.deleted", sandbox.id)

    def look_at_sandboxes(self):
        found = self.list()
        for sandbox in self.model.all():
            there = found.pop(sandbox.id, None)
            if sandbox.fate == "there":
                self.look_at_sandbox(sandbox, there)
            elif sandbox.fate == "going":
                self.finish_delete(sandbox, there)
            elif there:
                self.complain(f"sandbox {sandbox.name} {sandbox.id} was deleted, and is there")
            if sandbox.fate in ("gone", "never"):
                if sandbox.body["name"] and self.client.call("GET", f"/v1/sandboxes/{sandbox.name}").status != 404:
                    self.complain(f"sandbox {sandbox.name} was deleted, and is found")
                self.model.let_go(sandbox)
        for there in found.values():
            what = "was deleted, and came back" if there["id"] in self.model.gone else "was never asked for"
            self.complain(f"sandbox {there['id']} {there['name']} {what}")

    def look_at_sandbox(self, sandbox, there):
        if not there:
            self.complain(f"sandbox {sandbox.name} {sandbox.id} was acknowledged, and is missing")
            sandbox.fate = "gone"
            return
        if there["name"] != sandbox.body["name"] or there["labels"] != sandbox.body["labels"]:
            self.complain(f"sandbox {sandbox.name} became {there}")
        if there["state"] not in sandbox.states:
            self.complain(f"sandbox {sandbox.name} {sandbox.id} is {there['state']} ({there['reason']}), not {sandbox.states}")
        sandbox.states = {there["state"]}

    def finish_delete(self, sandbox, there):
        answer = self.client.call("DELETE", f"/v1/sandboxes/{sandbox.id}")
        if answer.status != (204 if there else 404):
            self.complain(f"delete of {sandbox.name}, repeated: {answer}; it was {'there' if there else 'gone'}")
        sandbox.fate = "gone"
        self.model.expect_event("sandbox.deleted", sandbox.id)

    # --- files and execs ---

    def look_at_files(self, sandbox):
        if sandbox.states != {"running"}:
            return
        for path, contents in sandbox.files.items():
            answer = self.client.call("GET", f"/v1/sandboxes/{sandbox.id}/files?path={path}")
            content = answer.data if answer.status == 200 else None if answer.status == 404 else answer
            if content not in contents:
                sizes = [len(one) if one is not None else "none" for one in contents]
                self.complain(f"file {path} of {sandbox.name}: {len(content) if isinstance(content, bytes) else answer} bytes, "
                              f"not what was acknowledged ({sizes})")
            contents[:] = [content]
        entries = self.client.call("GET", f"/v1/sandboxes/{sandbox.id}/entries?path=/home/user/data")
        if entries.status == 200:
            names = {entry["path"] for entry in entries.json()["items"]}
            for name in names - set(sandbox.files):
                self.complain(f"file {name} of {sandbox.name} is left over")

    def look_at_execs(self, sandbox):
        for exec in list(sandbox.execs):
            if not exec.id and not self.find_exec(sandbox, exec):
                sandbox.execs.remove(exec)
                continue
            self.look_at_exec(sandbox, exec)
            if exec.done:
                sandbox.execs.remove(exec)
                self.model.verified_execs += 1

    def find_exec(self, sandbox, exec):
        found = self.client.expect(200, "GET", f"/v1/sandboxes/{sandbox.id}/execs?tag={exec.tag}").json()["items"]
        if len(found) > 1:
            self.complain(f"exec {exec.tag} of {sandbox.name} was started {len(found)} times")
        exec.id = found[0]["id"] if found else None
        return exec.id

    def look_at_exec(self, sandbox, exec):
        path = f"/v1/sandboxes/{sandbox.id}/execs/{exec.id}"
        about = f"exec {exec.id} ({exec.tag}) of {sandbox.name}"
        answer = self.client.call("GET", path)
        if answer.status != 200:
            exec.done = True
            return self.complain(f"{about}: {answer}")
        streams, ended, result = self.read_output(path, about)
        for stream, text in streams.items():
            if not exec.terminal and not exec.expected(stream).startswith(text):
                self.complain(f"{about}: {stream} is not what it prints: {first_difference(exec.expected(stream), text)}")
        if not ended:
            return None
        exec.done = True
        self.model.expect_event("exec.ended", sandbox.id, exec.id)
        if result is None:  # the server could not start it, and said so
            return self.complain(f"{about}: was acknowledged, and has no result") if exec.acknowledged else None
        if not exec.acknowledged and result["status"] == "killed" and "before it could be started" in (result["why"] or ""):
            return None
        if exec.may_die and result["status"] == "killed":
            return None
        if result["exit_code"] != exec.code:
            return self.complain(f"{about}: ended with {result['exit_code']}, not {exec.code}: {result['status']}, {result['why']}")
        for stream, text in streams.items():
            if not exec.terminal:
                self.compare(about, stream, text, result[stream], exec.expected(stream))
        return None

    def compare(self, about, stream, text, captured, expected):
        if text != expected:
            self.complain(f"{about}: {stream} has {len(text)} bytes of {len(expected)}")
        if captured["bytes"] != len(expected):
            self.complain(f"{about}: the result's {stream} has {captured['bytes']} bytes of {len(expected)}")
        if not captured["truncated"] and captured["text"] != expected:
            self.complain(f"{about}: the result's {stream} is not what it printed")

    def read_output(self, path, about):
        texts = {"stdout": "", "stderr": ""}
        position = 1
        while True:
            page = self.client.expect(200, "GET", f"{path}/output?from={position}").json()
            for chunk in page["chunks"]:
                if chunk["seq"] != position:
                    self.complain(f"{about}: chunk {chunk['seq']} comes where {position} should")
                position = chunk["seq"] + 1
                texts[chunk["stream"]] += chunk["text"]
            if not page["chunks"]:
                return texts, page["ended"], page["result"]

    # --- the rest ---

    def look_at_keys(self):
        there = {key["id"] for key in self.client.expect(200, "GET", "/v1/keys").json()["items"]}
        for id, revoked in list(self.model.keys.items()):
            if revoked == "no" and id not in there:
                self.complain(f"key {id} was acknowledged, and is missing")
            if revoked == "yes" and id in there:
                self.complain(f"key {id} was revoked, and is there")
            self.model.keys[id] = "no" if id in there else "yes"

    def look_at_projects(self):
        there = {p["id"]: p["quotas"]["sandboxes"] for p in self.client.expect(200, "GET", "/v1/projects").json()["items"]}
        for id, quotas in self.model.projects.items():
            if there.get(id) not in quotas:
                self.complain(f"project {id} has {there.get(id)}, acknowledged: {quotas}")
            quotas[:] = [there.get(id)]

    def look_at_traces(self):
        there = self.model.there()
        alive = {sandbox.id for sandbox in there if sandbox.states != {"stopped"}}
        all_ids = {sandbox.id for sandbox in there}
        nothing = set()
        self.wrong += self.server.wait_for_traces({"socket": (alive, nothing), "group": (alive, nothing),
                                                   "process 1": (alive, nothing), "logs": (nothing, all_ids),
                                                   "layer": (all_ids, nothing)})

    # --- the end ---

    def finish(self):
        """Waits for all programs, looks at them, and deletes everything."""
        for sandbox in self.model.there():
            verb = {"paused": "resume", "stopped": "start"}.get(next(iter(sandbox.states)))
            if verb:
                self.client.expect(200, "POST", f"/v1/sandboxes/{sandbox.id}/{verb}")
                sandbox.states = {"running"}
        until = time.monotonic() + END_PATIENCE
        for sandbox in self.model.there():
            self.look_at_files(sandbox)
            while sandbox.execs and time.monotonic() < until:
                self.look_at_execs(sandbox)
                time.sleep(0.02 if sandbox.execs else 0)
            for exec in sandbox.execs:
                self.complain(f"exec {exec.id} ({exec.tag}) of {sandbox.name} does not end")
        for session in self.model.all_sessions():
            self.client.expect(204, "DELETE", f"/v1/sessions/{session.id}")
            self.look_at_end(session)
        for sandbox in self.model.there():
            self.client.expect(204, "DELETE", f"/v1/sandboxes/{sandbox.id}")
            sandbox.fate = "gone"
            self.model.expect_event("sandbox.deleted", sandbox.id)
        if left := self.list():
            self.complain(f"sandboxes are left: {left}")
        self.look_at_traces()
        self.client.close()
        return self.wrong


def first_difference(expected, text):
    at = next((i for i, (a, b) in enumerate(zip(expected, text)) if a != b), min(len(expected), len(text)))
    return f"at byte {at} {text[max(0, at - 30):at + 40]!r} for {expected[max(0, at - 30):at + 40]!r}"


class Database:
    """A copy of the state of a server that does not run."""

    def __init__(self, server):
        self.folder = tempfile.mkdtemp(prefix="cove-crash-db-")
        for name in ("cove.db", "cove.db-wal"):
            if os.path.exists(f"{server.state}/server/{name}"):
                shutil.copy(f"{server.state}/server/{name}", self.folder)
        self.connection = sqlite3.connect(self.folder + "/cove.db")
        tables = self.connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'events'").fetchone()[0]
        self.made = tables == 1  # a server can be killed before it has made them

    def close(self):
        self.connection.close()
        shutil.rmtree(self.folder)

    def look(self, model):
        wrong = []
        said = self.connection.execute("PRAGMA quick_check").fetchone()[0]
        if said != "ok":
            wrong.append(f"the database is broken: {said}")
        if not self.made:
            return wrong + ["the database is empty"] * bool(model.acknowledged)
        least, most, count = self.connection.execute("SELECT min(seq), max(seq), count(*) FROM events").fetchone()
        if count and (least != 1 or most != count):
            wrong.append(f"events {least} to {most} are {count}")
        there = set(self.connection.execute("SELECT kind, sandbox_id, exec_id FROM events"))
        of_sessions = set(self.connection.execute("SELECT kind, json_extract(data, '$.session') FROM events "
                                                  "WHERE kind LIKE 'session.%'"))
        with model.lock:
            wrong += [f"event {event} is missing" for event in model.events if event not in there]
            model.events = []
            wrong += [f"event {event} is missing" for event in model.session_events if event not in of_sessions]
            model.session_events = []
        return wrong

    def events_of_default(self):
        if not self.made:
            return []
        return [row[0] for row in self.connection.execute("SELECT seq FROM events WHERE project = 'default' ORDER BY seq")]
