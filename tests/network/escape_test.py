#!/usr/bin/python3
"""Ways around the network policy of a sandbox: escape_test.py BUILD [NAME…]. Each is tried inside, as its user and as its root, on
a server of root's and on a rootless one. The judge is what reaches the world: packets on its cable, and what its servers were
asked. What is denied must be in the log, unless the kernel refuses it before it is a connection."""

import concurrent.futures
import os
import sys
import time

import world
from place import Place, text

ATTEMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attempts")
THEMES = ("plain", "addresses", "names", "hellos", "proxies", "packets")
WEB_PORTS = (80, 443)

LEADS_NOWHERE = ("private", "loop", "loop6", "metadata", "mapped", "nat64", "local6", "machine", "machine6", "zero", "broadcast",
                 "multicast", "synthetic", "alias-private", "alias-loop", "mixed", "rebind")
POLICY = {"tier": "standard",
          "allow": ["web.example.org:80,443", "*.wild.example.org:80,443", "GET api.example.org/ok/*"] +
                   [name + ".example.org" for name in LEADS_NOWHERE],
          "block": ["blocked.wild.example.org", "*.blocked.wild.example.org"]}
# What these may reach, each: the names that are allowed lead here.
REACHABLE = {("udp", world.DNS, 53), ("tcp", world.DNS, 53)} | {("tcp", to, port) for to in (world.WEB, world.WEB6)
                                                               for port in WEB_PORTS}
# The kernel, or the sandbox's own loopback, refuses these before the gateway sees anything.
UNSEEN = {"addresses": ("loopback_", "machine_itself_six", "link_local", "spelled_", "name_of_synthetic",
                        "name_of_alias_loop", "one_address_of_two"),
          "names": ("multicast_names", "link_local_multicast_names", "pointer_loop", "answer_instead", "two_questions", "update",
                    "server_on_loopback"),
          "packets": ("multicast", "broadcast", "ping", "raw_", "frames", "sctp", "dccp", "udp_lite", "mptcp", "machine_socket",
                      "abstract_", "marked", "source_route", "foreign_source", "bound_", "flush_", "add_", "iptables", "remove_",
                      "loopback_down", "make_", "kill_", "enter_", "forwarding", "open_", "new_network", "steal_", "listener_",
                      "udp_from_the_port_of_dns")}


class Judge:
    def __init__(self, outside):
        self.outside = outside
        self.failed = []
        self.count = 0

    def attempt(self, sandbox, setting, theme, name, user):
        mark, visits, last = self.outside.mark(), self.outside.visits(), sandbox.last()
        result = sandbox.exec("/usr/bin/python3", f"/tmp/{theme}.py", name, user=user, env={"COVE_ATTEMPTS": "here"})
        self.outside.settle()
        said = text(result["stdout"]).strip()
        problems = list(self.escaped(mark))
        if self.outside.visits() != visits:
            problems.append("the machine's own service was reached")
        if not said.startswith(("refused:", "nothing came back")):
            problems.append("it says: " + (said or str(result)))
        if not self.is_unseen(theme, name) and not any(not entry["allowed"] for entry in sandbox.log(last)):
            problems.append("nothing of it is in the log; it says: " + said)
        self.count += 1
        if problems:
            self.failed.append(f"{setting}, {user}: {theme}.{name}: " + "; ".join(problems))
            print("FAILED " + self.failed[-1], flush=True)

    def escaped(self, mark):
        for packet in sorted(self.outside.reached(mark) - REACHABLE):
            yield f"a packet to {packet}"
        for entry in self.outside.journal(mark):
            if entry["kind"] == "dns" and ("CANARY" in entry["name"].upper() or entry["name"].endswith("example.net")
                                           and not entry["name"].startswith("deep.")):
                yield f"the question {entry['name']}"
            if entry["kind"] == "http" and entry["headers"].get("host", "").lower().split(":")[0].strip(".") not in SERVED:
                yield f"a request for {entry['headers'].get('host')}"
            if entry["kind"] == "http" and (entry["headers"].get("host") == "api.example.org" and
                                            (entry["method"] != "GET" or not is_ok(entry["target"]))):
                yield f"{entry['method']} {entry['target']}"

    @staticmethod
    def is_unseen(theme, name):
        return name.startswith(UNSEEN.get(theme, ("-",)))


SERVED = ("web.example.org", "api.example.org", "mixed.example.org", "rebind.example.org")


def is_ok(target):
    return target.startswith("/ok/") and ".." not in target and "%2" not in target.lower()


def attempts_of(sandbox, theme):
    return sandbox.run("/usr/bin/python3", f"/tmp/{theme}.py", env={"COVE_ATTEMPTS": "here"}).split()


def try_all(judge, place, setting, user, wanted):
    sandbox = place.sandbox(POLICY, place.server.client(120))
    for name in ("tries",) + THEMES:
        with open(f"{ATTEMPTS}/{name}.py", "rb") as file:
            sandbox.put(f"/tmp/{name}.py", file.read())
    for theme in THEMES:
        for name in attempts_of(sandbox, theme):
            if not wanted or name in wanted or theme in wanted:
                judge.attempt(sandbox, setting, theme, name, user)
    sandbox.remove()


def try_as_both(judge, place, setting, wanted):
    """Both at a time; a packet where none may be is a failure of either."""
    control = place.sandbox(POLICY)
    check_control(judge.outside, control, setting)
    with concurrent.futures.ThreadPoolExecutor() as both:
        for done in [both.submit(try_all, judge, place, setting, user, wanted) for user in ("user", "root")]:
            done.result()
    check_control(judge.outside, control, setting)


def check_control(outside, sandbox, setting):
    """What is allowed works, so that refusals mean something."""
    mark, path = outside.mark(), "control-" + setting
    for words in ([f"http://web.example.org/{path}"], ["-k", f"https://web.example.org/{path}"],
                  [f"http://api.example.org/ok/{path}"], ["-x", "http://10.0.2.3:3128", "-k", f"https://web.example.org/{path}"],
                  ["-x", "socks5h://10.0.2.3:1080", f"http://web.example.org/{path}"]):
        sandbox.run("curl", "-sS", "-m", "20", "-f", *words)
    arrived = [entry for entry in outside.journal(mark) if entry["kind"] == "http" and entry["target"].endswith("/" + path)]
    if len(arrived) != 5:
        raise AssertionError(f"of 5 allowed requests {len(arrived)} arrived: {arrived}")


def try_setting(judge, build, setting, wanted):
    with Place(build, judge.outside, rootless=setting == "rootless") as place:
        try_as_both(judge, place, setting, wanted)


def main(build, wanted):
    begun = time.monotonic()
    with world.World() as outside:
        judge = Judge(outside)
        with concurrent.futures.ThreadPoolExecutor() as both:
            for done in [both.submit(try_setting, judge, build, setting, wanted) for setting in ("root", "rootless")]:
                done.result()
    print("\n".join(judge.failed))
    print(f"{judge.count - len(judge.failed)} attempts refused, {len(judge.failed)} failed, in {time.monotonic() - begun:.0f} s")
    return 1 if judge.failed or not judge.count else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
