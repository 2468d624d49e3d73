#!/usr/bin/env python3
"""A folder of src/ includes only the folders that are listed for it here, and a room of src/engine/ only those before it and what all
rooms share. Tests beside the code, and testing.h, may include more.

    directions.py SOURCE-FOLDER
"""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": "",
    "sys": "base",
    "model": "base",
    "config": "base sys model net",
    "store": "base sys",
    "auth": "base store",
    "change": "base sys",
    "http1": "base",
    "http": "base http1",
    "tar": "base sys",
    "client": "base sys http1 tar",
    "net": "base sys model http1 init",
    "secret": "base sys store",
    "layer": "base sys model",
    "init": "base sys",
    "unpack": "base sys init",
    "image": "base sys model net unpack",
    "host": "base sys model init",
    "runtime": "base sys model net client layer init image unpack",
    "spawn": "base sys model net init image unpack runtime",
    "machine": "base sys model image runtime",
    "run": "base sys model image runtime",
    "engine": "base sys model config store auth change net secret image init runtime run",
    "api": "base sys http1 model config store auth net secret image runtime spawn machine run engine http tar",
    "cli": "base sys model net config client image machine run",
    "exe": "base sys model config change net init unpack host runtime spawn engine api cli",
}
ROOMS = ["exec", "quota", "network", "secret", "pool", "preview", "sandbox", "context", "session", "operation", "service"]
ROOM_INCLUDE = re.compile(r'^\s*#include "engine/([^"/]+)/', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#include "([^"/]+)/', re.MULTILINE)


def breaches(source):
    for path in sorted(source.rglob("*.cc")) + sorted(source.rglob("*.h")):
        folder = path.relative_to(source).parts[0]
        if path.stem == "testing" or path.stem.endswith("_test"):
            continue
        if folder not in MAY_INCLUDE:
            yield f"{path}: the folder {folder}/ is not listed in {__file__}"
            continue
        for included in INCLUDE.findall(path.read_text()):
            if included != folder and included not in MAY_INCLUDE[folder].split():
                yield f"{path}: {folder}/ may not include {included}/"


def room_breaches(engine):
    for path in sorted(engine.rglob("*/*.cc")) + sorted(engine.rglob("*/*.h")):
        room = path.relative_to(engine).parts[0]
        if path.stem.endswith("_test"):
            continue
        if room not in ROOMS:
            yield f"{path}: the room {room}/ is not listed in {__file__}"
            continue
        for included in ROOM_INCLUDE.findall(path.read_text()):
            if included not in ROOMS[: ROOMS.index(room) + 1]:
                yield f"{path}: {room}/ may not include {included}/"


def main():
    source = pathlib.Path(sys.argv[1])
    found = list(breaches(source)) + list(room_breaches(source / "engine"))
    print("\n".join(found) or "every folder includes only what it may")
    return 1 if found else 0


sys.exit(main())
