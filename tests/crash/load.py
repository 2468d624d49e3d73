"""The load: clients that create, execute, write, stop, pause and delete, and write down each answer."""

import json
import random
import threading
import time

from model import Sandbox, Session, make_exec
from server import ServerGone, UnixConnection

MOST_EXECS = 12  # of one sandbox at a time, that were not looked at yet


class Broken(Exception):
    """The server answered with 5xx: whether it was done is not known."""


class Load:
    def __init__(self, server, model):
        self.server = server
        self.model = model
        self.ending = threading.Event()
        self.broken = []      # answers with 5xx: right only where the server dies
        self.wrong = []       # answers that are never right
        workers = [self.lives, self.lives, self.execs, self.files, self.cycles, self.administration,
                   self.sessions, self.sessions, self.calls, self.calls]
        self.threads = [threading.Thread(target=self.guard, args=(worker, i), daemon=True) for i, worker in enumerate(workers)]

    def start(self):
        for thread in self.threads:
            thread.start()
        return self

    def stop(self):
        self.ending.set()
        for thread in self.threads:
            thread.join(90)
            if thread.is_alive():
                self.wrong.append("a request was never answered")

    # Each worker runs until the server is gone.
    def guard(self, worker, number):
        client = self.server.client()
        try:
            worker(client, number)
        except ServerGone:
            pass
        except Broken as broken:
            self.broken.append(str(broken))
        except AssertionError as error:
            self.wrong.append(str(error))
        finally:
            client.close()

    def call(self, client, allowed, method, path, body=None, headers=None):
        answer = client.call(method, path, body, headers)
        if answer.status in allowed:
            return answer
        if answer.status >= 500:
            raise Broken(f"{method} {path}: {answer}")
        raise AssertionError(f"{method} {path}: {answer}")

    # --- single operations ---

    def create(self, client, name):
        sandbox = self.model.add(Sandbox(name))
        answer = self.call(client, (201,), "POST", "/v1/sandboxes", sandbox.body, {"Idempotency-Key": sandbox.key})
        sandbox.id = answer.json()["id"]
        sandbox.fate = "there"
        self.model.note("created", sandbox=sandbox.id, name=name)
        self.model.expect_event("sandbox.created", sandbox.id)
        return sandbox

    def delete(self, client, sandbox):
        for exec in sandbox.execs:
            exec.may_die = True
        sandbox.fate = "going"
        self.call(client, (204,), "DELETE", f"/v1/sandboxes/{sandbox.id}")
        sandbox.fate = "gone"
        self.model.note("deleted", sandbox=sandbox.id)
        self.model.expect_event("sandbox.deleted", sandbox.id)

    def run(self, client, sandbox, wait, session=None):
        exec = make_exec(f"t{self.model.number()}")
        exec.session = session
        sandbox.execs.append(exec)
        path = f"/v1/sessions/{session.id}/execs" if session else f"/v1/sandboxes/{sandbox.id}/execs"
        if not wait:
            answer = self.call(client, (201,), "POST", path, exec.body()).json()
            exec.id = answer["id"]
        else:
            answer = self.call(client, (200,), "POST", path + "?wait=true", {**exec.body(), "on_disconnect": "keep"}).json()
            exec.id = answer["exec_id"]
            stdout = answer["stdout"]
            right = answer["exit_code"] == exec.code and \
                (exec.terminal or stdout["truncated"] or stdout["text"] == exec.expected("stdout"))
            if not right and not exec.may_die:
                raise AssertionError(f"exec {exec.tag}: {answer['status']} {answer['exit_code']}, {answer['stdout']['bytes']} bytes")
        exec.acknowledged = True
        if session and self.model.saw_bound(session, answer["sandbox_id"]) != answer["sandbox_id"]:
            raise AssertionError(f"session {session.name} ran in {answer['sandbox_id']}; {sandbox.name} is {sandbox.id}")
        self.model.note("executed", sandbox=sandbox.id, exec=exec.id, tag=exec.tag, waited=wait)
        self.model.expect_event("exec.started", sandbox.id, exec.id)

    # --- of sessions ---

    def start_session(self, client, name):
        scope = random.choice(["session", "session", "agent", "shared"])
        agent = name if scope == "session" else f"agent{random.randrange(2)}"
        session = self.model.add_session(Session(name, scope, agent))
        session.id = self.call(client, (201,), "POST", "/v1/sessions", session.body).json()["id"]
        session.fate = "there"
        self.model.expect_session_event("session.started", session)
        self.model.note("session", session=session.id, name=name, scope=scope, agent=agent)
        return session

    def end_session(self, client, session):
        sandbox = self.model.sandboxes.get("of " + session.binding)
        own = sandbox and session.scope == "session"
        for exec in sandbox.execs if sandbox else ():
            exec.may_die |= own or exec.session is session
        session.fate = "going"
        if own:
            sandbox.fate = "ending"
        self.call(client, (204,), "DELETE", f"/v1/sessions/{session.id}")
        session.fate = "gone"
        self.model.expect_session_event("session.ended", session)
        if own:
            sandbox.fate = "gone"
            self.model.expect_event("sandbox.deleted", sandbox.id)
        self.model.note("session ended", session=session.id)

    def write(self, client, sandbox, path):
        content = random.randbytes(random.choice([0, 1, 100, 5000, 70000, 300000]))
        contents = sandbox.files.setdefault(path, [None])
        contents.append(content)
        self.call(client, (200, 201), "PUT", f"/v1/sandboxes/{sandbox.id}/files?path={path}&parents=true", content)
        contents[:] = [content]
        self.model.note("written", sandbox=sandbox.id, path=path, bytes=len(content))

    def unlink(self, client, sandbox, path):
        contents = sandbox.files.get(path)
        if not contents or None in contents:
            return
        contents.append(None)
        self.call(client, (204,), "DELETE", f"/v1/sandboxes/{sandbox.id}/files?path={path}")
        contents[:] = [None]
        self.model.note("unlinked", sandbox=sandbox.id, path=path)

    def change(self, client, sandbox, verb, state):
        if verb == "stop":
            for exec in sandbox.execs:
                exec.may_die = True
        sandbox.states.add(state)
        self.call(client, (200,), "POST", f"/v1/sandboxes/{sandbox.id}/{verb}")
        sandbox.states = {state}
        self.model.note(verb, sandbox=sandbox.id)
        kind = {"start": "started", "stop": "stopped", "pause": "paused", "resume": "resumed"}[verb]
        self.model.expect_event("sandbox." + kind, sandbox.id)

    def home(self, client, name):
        sandbox = self.model.sandboxes.get(name)
        return sandbox or self.create(client, name)

    # --- workers ---

    def lives(self, client, number):
        while not self.ending.is_set():
            mine = [s for s in self.model.there() if s.name.startswith(f"life{number}-")]
            if len(mine) > 2:
                self.delete(client, random.choice(mine))
            sandbox = self.create(client, f"life{number}-{self.model.number()}")
            self.write(client, sandbox, "/home/user/data/first")
            self.run(client, sandbox, wait=False)

    def execs(self, client, number):
        while not self.ending.is_set():
            sandbox = self.home(client, f"home{random.randrange(2)}-exec")
            if len(sandbox.execs) < MOST_EXECS:
                self.run(client, sandbox, wait=random.random() < 0.3)
            else:
                self.ending.wait(0.02)

    def files(self, client, number):
        sandbox = self.home(client, "home-files")
        while not self.ending.is_set():
            path = f"/home/user/data/{random.randrange(6)}"
            if random.random() < 0.2:
                self.unlink(client, sandbox, path)
            else:
                self.write(client, sandbox, path)

    def cycles(self, client, number):
        sandbox = self.home(client, "home-cycles")
        while not self.ending.is_set():
            state = next(iter(sandbox.states))
            if state == "running":
                if len(sandbox.execs) < MOST_EXECS:
                    self.run(client, sandbox, wait=False)
                self.write(client, sandbox, "/home/user/data/kept")
                self.change(client, sandbox, *random.choice([("stop", "stopped"), ("pause", "paused")]))
            elif state == "paused":
                self.change(client, sandbox, "resume", "running")
            else:
                self.change(client, sandbox, "start", "running")
            self.ending.wait(0.01)

    def sessions(self, client, number):
        while not self.ending.is_set():
            mine = [s for s in self.model.all_sessions() if s.name.startswith(f"s{number}-") and s.fate == "there"]
            if len(mine) < 4:
                mine.append(self.start_session(client, f"s{number}-{self.model.number()}"))
            session = random.choice(mine)
            sandbox = self.model.sandbox_of(session)
            if len(sandbox.execs) < MOST_EXECS:
                self.run(client, sandbox, wait=random.random() < 0.4, session=session)
            if random.random() < 0.5:
                self.end_session(client, random.choice(mine))

    def calls(self, client, number):
        """Each in a sandbox of its own, that is gone afterwards."""
        while not self.ending.is_set():
            word = f"c{self.model.number()}"
            body = random.choice((
                {"argv": ["sh", "-c", f"sleep 0.0{random.randrange(3)}; echo {word}; echo {word} > {word}"]},
                {"language": "python", "code": f"print('{word}')\nopen('{word}', 'w').write('{word}')"}))
            answer = self.call(client, (200,), "POST", "/v1/execute", body).json()
            if answer["stdout"]["text"] != word + "\n" or [file["path"] for file in answer["files"]] != [word]:
                raise AssertionError(f"execute of {word}: {answer}")
            self.model.note("called", word=word, sandbox=answer["sandbox_id"])
            self.model.expect_event("sandbox.created", answer["sandbox_id"])

    def administration(self, client, number):
        while not self.ending.is_set():
            name = f"p{self.model.number()}"
            self.model.projects[name] = [None, 3]
            self.call(client, (201,), "POST", "/v1/projects", {"id": name, "quotas": {"sandboxes": 3}})
            self.model.projects[name] = [3]
            self.model.note("project", project=name)
            key = self.call(client, (201,), "POST", "/v1/keys", {"name": name, "project": "default", "scopes": ["read"]}).json()["id"]
            self.model.keys[key] = "no"
            self.model.note("key", key=key)
            self.model.projects[name] = [3, 4]
            self.call(client, (200,), "PATCH", f"/v1/projects/{name}", {"quotas": {"sandboxes": 4}})
            self.model.projects[name] = [4]
            if random.random() < 0.5:
                self.model.keys[key] = "maybe"
                self.call(client, (204,), "DELETE", f"/v1/keys/{key}")
                self.model.keys[key] = "yes"
                self.model.note("revoked", key=key)
            if random.random() < 0.7:
                self.model.projects[name] = [4, None]
                self.call(client, (204,), "DELETE", f"/v1/projects/{name}")
                self.model.projects[name] = [None]
                self.model.note("project gone", project=name)
            self.ending.wait(0.1)


class Follower:
    """Follows the events over all crashes, taking up after the last one that it saw."""

    def __init__(self, server):
        self.server = server
        self.seen = []
        self.ending = False
        self.connection = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending:
            try:
                self.follow()
            except (OSError, ValueError, AttributeError, ServerGone):
                pass
            except Exception:  # an answer that was cut off
                pass
            time.sleep(0.05)

    def follow(self):
        self.connection = UnixConnection(self.server.socket, 5)
        headers = {"Accept": "text/event-stream"}
        if self.seen:
            headers["Last-Event-ID"] = str(self.seen[-1])
        self.connection.request("GET", "/v1/events", headers=headers)
        response = self.connection.getresponse()
        lines = []
        while line := response.readline():
            if line.strip():
                lines.append(line)
                continue
            # A blank line ends an event; what was cut off before it does not count.
            for one in lines:
                if one.startswith(b"data:") and "seq" in (event := json.loads(one[5:])):
                    self.seen.append(event["seq"])
            lines = []

    def catch_up(self, last, patience=10):
        until = time.monotonic() + patience
        while self.seen[-1:] < [last] and time.monotonic() < until:
            time.sleep(0.02)

    def look(self, expected, patience=10):
        """Whether it has seen each event of the list, once and in order."""
        self.catch_up(expected[-1] if expected else 0, patience)
        if self.seen[:len(expected)] == expected:
            return []
        missing = sorted(set(expected) - set(self.seen))[:10]
        return [f"the event stream: {len(self.seen)} of {len(expected)} events, missing {missing}, "
                f"{len(self.seen) - len(set(self.seen))} twice"]

    def stop(self):
        self.ending = True
        self.thread.join(10)
