"""Runs inside until it is killed: tries what is not allowed, does what is, and counts what succeeds in /tmp/allowed."""

import itertools
import random
import threading

from tries import *


def quietly(function):
    try:
        return function()
    except Exception:  # the refusals, and what breaks while something is killed
        return None


def hostile():
    ways = (lambda: http(EVIL, name=EVIL_NAME), lambda: http(EVIL_NAME), lambda: tls(WEB, name=EVIL_NAME),
            lambda: exchange(connect(WEB_NAME, 80), get(EVIL_NAME)), lambda: datagram(EVIL, 4000), lambda: ask(question(EVIL_NAME)),
            lambda: ask(question(EVIL_NAME), "8.8.8.8"), lambda: exchange(connect("10.20.0.1", 5432), CANARY.encode()),
            lambda: http("169.254.169.254", name=WEB_NAME + "."))
    while True:
        quietly(random.choice(ways))


def allowed():
    for count in itertools.count(1):
        while not (quietly(lambda: http(WEB_NAME)) or b"").startswith(b"HTTP/1.1 200"):
            pass
        with open("/tmp/allowed", "w", encoding="utf-8") as file:
            file.write(str(count))


if not inside():
    sys.exit("refused: this attacks a network, and only runs in a sandbox made for it")
for _ in range(3):
    threading.Thread(target=hostile, daemon=True).start()
allowed()
