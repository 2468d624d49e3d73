#!/usr/bin/env python3
"""Kills the server at every named crash point, and at random moments, and looks at what the next one has.

crash_test.py points BUILD [NAME…]      each crash point (or those whose name contains NAME)
crash_test.py random BUILD [COUNT]      COUNT random kills of coved, cove-spawn or both
crash_test.py scenarios BUILD           what the load does not come to
The seed of the random numbers is printed; COVE_TEST_SEED sets it.
"""

import os
import random
import re
import shutil
import sys
import time

import scenarios
from load import Follower, Load
from model import Database, Model, Verifier
from report import Tally, guarded, keep as keep_server
from server import KEEP_NO_EXECS, Server, copy_programs

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src")
# Until a point is reached. Records are pruned once a minute.
PATIENCE = 45
PRUNE_PATIENCE = 100
# Reached when a state folder is new, and never again.
AT_FIRST_START = ("store.migrate.", "store.make_secret.")
# Long work, and execs that outlive their sandboxes.
NOT_IN_THIS_LOAD = ("put_secret", "remove_secret", "reseal_secrets", "insert_operation", "update_operation", "interrupt_operations", "retire_sandbox", "forget_removed")
# In a process of its own that ends one sandbox: the server may go on, and says so.
IN_A_CHILD = ("spawn.destroy.",)
KILLED = (-9, 128 + 9)


def crash_points():
    with open(f"{SOURCES}/base/crash_point.cc") as file:
        source = file.read()
    lists = re.findall(r"\{((?:\s*\"[^\"]+\",?)+)\s*\}", source)
    if len(lists) != 2:
        raise SystemExit("crash_test: the lists in crash_point.cc are not where they were")
    points, changes = (re.findall(r"\"([^\"]+)\"", text) for text in lists)
    # Those of images are reached by tests/images/kill_test.py, the others by store_crash_test: this load has none.
    points = [point for point in points if not point.startswith(("image.", "backup.", "secrets."))]
    changes = [change for change in changes if change not in NOT_IN_THIS_LOAD]
    return points + [f"store.{change}.{moment}" for change in changes for moment in ("before_commit", "after_commit")]


class Ground:
    """A server, what is known about it, and how one crash is gone through."""

    def __init__(self, programs):
        # Few ended execs are kept: each result may have a megabyte, and the database is copied at every crash.
        self.server = Server(programs, ["exec_retention=50", KEEP_NO_EXECS])
        self.model = Model(self.server.folder)
        self.follower = Follower(self.server)

    def come_back(self):
        """After a crash. Returns what is wrong."""
        database = Database(self.server)
        wrong = database.look(self.model)
        events = database.events_of_default() if not wrong else []
        database.close()
        if not self.server.start():
            return wrong + ["the server does not start again"]
        wrong += Verifier(self.model, self.server).verify()
        if events:
            wrong += self.follower.look(events)
        return wrong

    def last_event(self):
        client, last = self.server.client(), 0
        while True:
            page = client.expect(200, "GET", f"/v1/events?after={last}&limit=1000").json()
            if not page["items"]:
                return last
            last = page["last_seq"]

    def finish(self):
        wrong = Verifier(self.model, self.server).finish()
        self.follower.catch_up(self.last_event())
        self.server.stop()
        self.follower.stop()
        wrong += [f"left over: {trace}" for trace in self.server.wait_for_nothing()]
        database = Database(self.server)
        wrong += database.look(self.model)
        events = database.events_of_default()
        database.close()
        # "stopped" is said when nobody is listened to any more.
        return wrong + self.follower.look(events[:-1], 0)


def load_until_death(ground, point):
    """Whether the point was reached, and what was wrong on the way."""
    load = Load(ground.server, ground.model).start()
    in_child = point.startswith(IN_A_CHILD)
    until = time.monotonic() + (PRUNE_PATIENCE if ".prune_" in point else PATIENCE)
    coved = ground.server.coved()
    hit = False
    while not hit and not load.wrong and time.monotonic() < until:
        hit = not ground.server.running() or in_child and any("was ending sandbox" in text for text in load.broken)
        time.sleep(0.005)
    if ground.server.running():
        ground.server.kill("both")
    status = ground.server.wait_for_end(coved)
    load.stop()
    if status not in KILLED:
        load.wrong.append(f"the server ended with {status}")
    return hit, load.wrong


def crash_at(ground, point, times):
    ready = ground.server.start(f"{point}:{times}")
    if not ready:
        status = ground.server.wait_for_end()
        hit, wrong = True, [] if status in KILLED else [f"the server ended with {status}"]
    else:
        hit, wrong = load_until_death(ground, point)
    if not hit:
        wrong.append("the point was never reached")
    wrong += ground.come_back()
    return wrong


class Points:
    def __init__(self, programs, tally):
        self.programs = programs
        self.tally = tally
        self.ground = None

    def run(self, points):
        for point in points:
            times = [1]
            fresh = point.startswith(AT_FIRST_START)
            # Once more when there is something to lose: at the second start or later, in the middle of the load.
            if not fresh and ".prune_" not in point and not point.startswith(IN_A_CHILD):
                times.append(random.randrange(2, 7))
            for count in times:
                self.one(point, count, fresh)
        if self.ground:
            self.close()

    def one(self, point, count, fresh):
        if fresh and self.ground:
            self.close()
        if not self.ground:
            self.ground = Ground(self.programs)
        start = time.monotonic()
        if self.ground.server.running():
            self.ground.server.stop()
        wrong = guarded(self.ground.server, lambda: crash_at(self.ground, point, count))
        self.tally.count(f"{point}:{count}", wrong, time.monotonic() - start)
        if wrong:
            self.abandon()

    def close(self):
        start = time.monotonic()
        wrong = guarded(self.ground.server, self.ground.finish)
        self.tally.count("nothing is left", wrong, time.monotonic() - start, describe(self.ground.model))
        if wrong:
            return self.abandon()
        self.ground.server.remove()
        self.ground = None

    def abandon(self):
        """After a failure: its folder is kept, and the next point begins with a new one."""
        keep(self.ground)
        self.ground = None


def keep(ground):
    ground.follower.ending = True
    keep_server(ground.server)


def describe(model):
    return f"{model.acknowledged} answers, {model.verified_execs} execs looked at "


def random_kills(programs, tally, count):
    ground = Ground(programs)
    ground.server.start()
    start = time.monotonic()
    wrong = []
    kills = {"coved": 0, "cove-spawn": 0, "both": 0}
    for number in range(count):
        which = random.choice(list(kills))
        kills[which] += 1
        wrong = guarded(ground.server, lambda: random_kill(ground, which))
        if wrong:
            wrong.insert(0, f"kill {number + 1} of {count}, of {which}")
            break
        if (number + 1) % 50 == 0:
            print(f"        {number + 1} kills, {describe(ground.model)}", flush=True)
    tally.count(f"{sum(kills.values())} random kills", wrong, time.monotonic() - start, f"{kills} ")
    if wrong:
        return keep(ground)
    start = time.monotonic()
    wrong = guarded(ground.server, ground.finish)
    tally.count("nothing is left", wrong, time.monotonic() - start, describe(ground.model))
    keep(ground) if wrong else ground.server.remove()
    return None


def random_kill(ground, which):
    load = Load(ground.server, ground.model).start()
    time.sleep(random.uniform(0.02, 0.7))
    broken = list(load.broken)
    ground.server.kill(which)
    load.stop()
    return load.wrong + [f"before the kill: {text}" for text in broken] + ground.come_back()


def run_scenarios(programs, tally):
    for scenario in scenarios.ALL:
        server = Server(programs, [KEEP_NO_EXECS])

        def run():
            server.start()
            scenario(server)
            client = server.client()
            for sandbox in client.expect(200, "GET", "/v1/sandboxes").json()["items"]:
                client.expect(204, "DELETE", f"/v1/sandboxes/{sandbox['id']}")
            client.close()
            server.stop()
            return [f"left over: {trace}" for trace in server.wait_for_nothing()]

        if tally.run(scenario.__name__.replace("_", " "), server, run):
            server.remove()


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("points", "random", "scenarios"):
        raise SystemExit(__doc__)
    if os.geteuid() != 0:
        raise SystemExit("crash_test: needs root, for the pool, control groups and a look at all processes")
    seed = int(os.environ.get("COVE_TEST_SEED", random.randrange(1 << 30)))
    random.seed(seed)
    print(f"crash_test {sys.argv[1]}: seed {seed}", flush=True)
    programs = copy_programs(sys.argv[2])
    tally = Tally()
    try:
        if sys.argv[1] == "points":
            points = crash_points()
            wanted = [p for p in points if any(word in p for word in sys.argv[3:])] if sys.argv[3:] else points
            Points(programs, tally).run(wanted)
        elif sys.argv[1] == "scenarios":
            run_scenarios(programs, tally)
        else:
            random_kills(programs, tally, int(sys.argv[3]) if sys.argv[3:] else 200)
    finally:
        shutil.rmtree(programs, ignore_errors=True)
    sys.exit(tally.end())


if __name__ == "__main__":
    main()
