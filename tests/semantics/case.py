"""The cases: one file each, in cases/LANGUAGE/; what is to be said about them is in manifest.toml.

A table of the manifest is named LANGUAGE/NAME, as the file without its extension, and may have

    exit      the exit code, 0 unless given; `signal`, a number, in its place; "any" where versions differ
    stdout    a text that must occur in it; "" where it must be empty
    stderr    a text that must occur in it; it must be empty unless given
    stdin     a text, {base64 = …} or {text = …, times = …, end = …}; none unless given
    env       variables that are given with the call
    sandbox   of the request that makes the sandbox; bare, only its `env` has a meaning
    order     further fields of the request that runs the program; bare, only its `cwd` has a meaning
    before    a command for the shell that is run before, in the same place
    files     by path, what is put there before that
    turns     so many times the program is run in the same sandbox, and the last one counts; not bare
    compare   the ways that must agree: "bare", "cold", "warm" unless given
    mask      what cannot be equal: names of MASKS in outcome.py, or regular expressions
    ignore    "stdout" or "stderr", where it cannot be compared at all
    warm      whether it can find an interpreter that waited; so it is unless it has more than code
    differs   true where two runs must print different things
    code      the program itself, where a file is no good place for its bytes; in the forms of `stdin`

It is kept apart from the programs because each byte of them is part of the case.
"""

import base64
import pathlib
import tomllib

HERE = pathlib.Path(__file__).parent
WAYS = ("bare", "cold", "warm")
EXTENSIONS = {"python": ".py", "javascript": ".js", "bash": ".sh"}
INTERPRETERS = {"python": "python3", "javascript": "node", "bash": "bash"}
KEYS = {"exit", "signal", "stdout", "stderr", "stdin", "env", "sandbox", "order", "before", "files", "turns", "compare", "mask",
        "ignore", "warm", "differs", "code"}
NEWS = {"stdin", "env", "sandbox", "order", "before", "files", "turns"}  # to an interpreter that waited


class Case:
    def __init__(self, name, code, about):
        if unknown := about.keys() - KEYS:
            raise SystemExit(f"manifest.toml: {name}: unknown: {', '.join(sorted(unknown))}")
        self.name = name
        self.language = name.split("/")[0]
        self.extension = EXTENSIONS[self.language]
        self.interpreter = INTERPRETERS[self.language]
        self.code = code
        self.signal = about.get("signal")
        self.exit = None if self.signal else about.get("exit", 0)
        self.stdout = about.get("stdout")
        self.stderr = about.get("stderr", "")
        self.stdin = bytes_of(about.get("stdin"))
        self.env = about.get("env", {})
        self.sandbox = about.get("sandbox", {})
        self.order = about.get("order", {})
        self.before = about.get("before", "")
        self.files = about.get("files", {})
        self.turns = about.get("turns", 1)
        self.compare = tuple(about.get("compare", WAYS))
        self.mask = about.get("mask", [])
        self.ignore = about.get("ignore", [])
        self.can_be_warm = about.get("warm", not NEWS & about.keys())
        self.differs = about.get("differs", False)

    def is_silent(self):
        """It must say so: a program that only ends well, without a word, hardly tells whether it was run."""
        return self.stdout == ""


def bytes_of(value):
    if isinstance(value, dict) and "base64" in value:
        return base64.b64decode(value["base64"])
    if isinstance(value, dict):
        return value["text"].encode() * value["times"] + value.get("end", "").encode()
    return None if value is None else value.encode()


def load():
    with open(HERE / "manifest.toml", "rb") as file:
        manifest = tomllib.load(file)
    codes = {f"{language}/{path.stem}": path.read_bytes().decode()
             for language, extension in EXTENSIONS.items() for path in (HERE / "cases" / language).glob("*" + extension)}
    codes |= {name: bytes_of(about["code"]).decode() for name, about in manifest.items() if "code" in about}
    if lost := manifest.keys() - codes.keys():
        raise SystemExit(f"manifest.toml: no such case: {', '.join(sorted(lost))}")
    return [Case(name, codes[name], manifest.get(name, {})) for name in sorted(codes)]
