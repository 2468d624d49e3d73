#!/usr/bin/env python3
"""Runs each case bare, in a fresh sandbox, and in one from the pool, whose interpreter waited; all must agree."""

import argparse
import concurrent.futures
import fnmatch
import os
import shutil
import sys
import time

import case as cases
from bare import Bare
from outcome import differences, unexpected
from sandboxed import Cold, NotStarted, Warm
from server import copy_programs

WAITING = ("python",)  # the languages whose interpreters wait in a pool, unless its settings say otherwise


def options():
    parser = argparse.ArgumentParser(prog="tests/semantics/run", description=__doc__)
    parser.add_argument("build", nargs="?", default="build", help="the folder with the programs (build/)")
    parser.add_argument("--case", action="append", metavar="PATTERN", help="only cases like this, as python/exit_*")
    parser.add_argument("--no-warm", action="store_true", help="for a server without pool.size: only bare and cold")
    parser.add_argument("--may-be-cold", action="store_true", help="do not ask whether interpreters were found waiting")
    parser.add_argument("--repeat", type=int, default=1, metavar="TIMES", help="each case so many times")
    parser.add_argument("--jobs", type=int, default=4, help="so many cases at once (4)")
    parser.add_argument("--times", action="store_true", help="print the slowest cases")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    return parser.parse_args()


class Suite:
    def __init__(self, ways):
        self.ways = ways
        self.times = {}

    def examine(self, case):
        """What is wrong, as lines."""
        start = time.monotonic()
        try:
            return self.examine_unguarded(case)
        except Exception as error:  # whatever it was, it is the finding
            return [f"{type(error).__name__}: {error}"]
        finally:
            self.times[case.name] = time.monotonic() - start

    def examine_unguarded(self, case):
        ways = [way for way in self.ways if way.name in case.compare]
        wrong, outcomes = [], []
        for way in ways:
            outcome = way.run(case)
            outcomes.append(outcome)
            wrong += [f"{way.name}: {line}" for line in unexpected(case, outcome)]
            if case.differs and way.run(case).stdout == outcome.stdout:
                wrong.append(f"{way.name}: two runs printed the same")
        for way, outcome in list(zip(ways, outcomes))[1:]:
            wrong += differences(case, ways[0].name, outcomes[0], way.name, outcome)
        return wrong


def open_ways(arguments, programs, opened):
    """Bare programs get the variables that a sandbox gives. What is opened is in `opened` at once, to be closed."""
    opened.append(Cold(programs, knows_pool=not arguments.no_warm))
    cold = opened[0].start()
    if not arguments.no_warm:
        opened.append(Warm(programs))
        opened[-1].start()
    opened.append(Bare(cold.environment()))
    return [opened[-1], *opened[:-1]]


def run(arguments, chosen, ways):
    suite = Suite(ways)
    failures = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for case, wrong in zip(chosen, pool.map(suite.examine, chosen)):
            if wrong:
                failures.setdefault(case.name, wrong)
    if arguments.times:
        for name, seconds in sorted(suite.times.items(), key=lambda entry: entry[1])[-20:]:
            print(f"  {seconds:6.2f} s  {name}")
    for name, wrong in failures.items():
        print(f"  FAIL  {name}")
        print("".join(f"        {line}\n" for line in wrong), end="")
    return failures


def too_cold(chosen, ways):
    """Warm programs that were cold show nothing. The pool may be empty for a moment; most are quicker than that."""
    found = sum(way.found_waiting() for way in ways if isinstance(way, Warm))
    could = sum(case.can_be_warm and case.language in WAITING for case in chosen)
    print(f"  {found} programs found their interpreter waiting; {could} could have")
    return found < could / 3


def summary(ways, failures, seconds):
    print(f"  {', '.join(way.name for way in ways)}: {seconds:.1f} s")
    if failures:
        print("\n  failed:")
        print("".join(f"    {name:44} {wrong[0][:90]}\n" for name, wrong in failures.items()))


def main():
    arguments = options()
    chosen = [case for case in cases.load()
              if not arguments.case or any(fnmatch.fnmatch(case.name, pattern) for pattern in arguments.case)]
    if arguments.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if not chosen:
        raise SystemExit("no such case")
    start = time.monotonic()
    programs, opened = copy_programs(arguments.build), []
    try:
        ways = open_ways(arguments, programs, opened)
        failures = run(arguments, chosen * arguments.repeat, ways)
        if not (arguments.no_warm or arguments.may_be_cold) and too_cold(chosen, ways):
            failures["(all)"] = ["hardly any program found its interpreter waiting"]
    except NotStarted as error:
        print(f"{error}\n0 passed, {len(chosen)} failed")
        return 1
    finally:
        for way in opened:
            way.close()
        shutil.rmtree(programs, ignore_errors=True)
    summary(ways, failures, time.monotonic() - start)
    print(f"{len(chosen) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
