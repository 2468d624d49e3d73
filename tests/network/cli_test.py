#!/usr/bin/python3
"""The command line where names lead somewhere: cli_test.py BUILD"""

import os
import subprocess
import sys

import world
from place import Place

FETCH = ("curl", "-sS", "-m", "20", "-f")


class Cli:
    def __init__(self, place, outside):
        self.place = place
        self.outside = outside
        self.failed = []
        self.count = 0

    def cove(self, *words):
        env = {name: value for name, value in os.environ.items() if not name.startswith("COVE_")}
        env["COVE_HOST"] = "unix:" + self.place.server.socket
        return subprocess.run(self.outside.on_machine(self.place.programs + "/cove", *words), env=env, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=120)

    def check(self, name, holds, answer):
        self.count += 1
        if not holds:
            self.failed.append(name)
            print(f"FAILED {name}: exit {answer.returncode}: {answer.stdout[-800:]} {answer.stderr[-1200:]}", flush=True)

    def requests_since(self, mark):
        return [entry["target"] for entry in self.outside.journal(mark) if entry["kind"] == "http"]


def run_reaches_what_is_allowed(cli, setting):
    mark = cli.outside.mark()
    answer = cli.cove("run", "--allow", "web.example.org", "--", *FETCH, "http://web.example.org/allowed")
    cli.check(f"{setting}: allowed", answer.returncode == 0 and "/allowed" in cli.requests_since(mark), answer)
    answer = cli.cove("run", "--allow", "web.example.org", "--", *FETCH, "http://api.example.org/ok/denied")
    told = "cove: denied: api.example.org" in answer.stderr and "allow it with: --allow api.example.org" in answer.stderr
    cli.check(f"{setting}: denied", answer.returncode != 0 and told and "/ok/denied" not in cli.requests_since(mark), answer)


def learning_proposes_what_was_reached(cli, setting):
    answer = cli.cove("net", "learn", "--", "sh", "-c",
                      " && ".join(" ".join((*FETCH, url)) for url in ("http://web.example.org/learnt", "http://api.example.org/ok/a")))
    rules = [line.split()[1] for line in answer.stderr.splitlines() if line.startswith("  --allow ")]
    hosts = {rule.split(":")[0] for rule in rules}
    cli.check(f"{setting}: learning", answer.returncode == 0 and hosts == {"web.example.org", "api.example.org"}, answer)
    options = [word for rule in rules for word in ("--allow", rule)]
    answer = cli.cove("run", *options, "--", *FETCH, "http://web.example.org/learnt")
    cli.check(f"{setting}: what was learnt", answer.returncode == 0, answer)
    answer = cli.cove("net", "learn", "--", *FETCH, "http://private.example.org/")
    cli.check(f"{setting}: learning does not reach private addresses", answer.returncode != 0, answer)


def allowing_and_blocking_act_at_once(cli, setting):
    box = cli.cove("create", "--network", "standard").stdout.strip()
    fetch = ("exec", box, "--", *FETCH, "http://web.example.org/later")
    answer = cli.cove(*fetch)
    cli.check(f"{setting}: not yet", answer.returncode != 0 and f"cove net allow {box} web.example.org" in answer.stderr, answer)
    cli.cove("net", "allow", box, "web.example.org")
    answer = cli.cove(*fetch)
    cli.check(f"{setting}: now", answer.returncode == 0, answer)
    log = cli.cove("net", "log", box)
    cli.check(f"{setting}: the log", "web.example.org:80" in log.stdout and "by web.example.org" in log.stdout, log)
    cli.cove("net", "block", box, "web.example.org")
    answer = cli.cove(*fetch)
    cli.check(f"{setting}: no longer", answer.returncode != 0 and "(on a block list)" in answer.stderr, answer)
    cli.cove("rm", "-f", box)


def main(build):
    failed, count = [], 0
    with world.World() as outside:
        for setting in ("root", "rootless"):
            with Place(build, outside, setting == "rootless") as place:
                cli = Cli(place, outside)
                for part in (run_reaches_what_is_allowed, learning_proposes_what_was_reached, allowing_and_blocking_act_at_once):
                    part(cli, setting)
                failed += cli.failed
                count += cli.count
    print(f"{count - len(failed)} of {count} as they should be: {'all' if not failed else ', '.join(failed)}")
    return 1 if failed or not count else 0


sys.exit(main(sys.argv[1]))
