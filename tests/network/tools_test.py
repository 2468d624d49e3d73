#!/usr/bin/python3
"""Real tools in a sandbox whose policy allows what they need, and in one where it does not: tools_test.py BUILD [TOOL…]"""

import subprocess
import sys

import goods
import tools
import world
from place import Place, text
from services import Database, GitOverSsh

POLICY = {"tier": "standard", "allow": ["web.example.org", "git.example.org:2222", "db.example.org:5433"]}


class Run:
    def __init__(self):
        self.failed = []
        self.count = 0

    def check(self, name, holds, result):
        self.count += 1
        if not holds:
            self.failed.append(name)
            print(f"FAILED {name}: {text(result['stdout'])[-600:]} {text(result['stderr'])[-1200:]}", flush=True)

    def tool(self, setting, sandbox, name, env=None):
        result = sandbox.exec("sh", "-c", tools.FETCH[name], stdin=tools.INPUT.get(name, ""), env=env or {})
        self.check(f"{setting}: {name}", text(result["stdout"]).strip().endswith("fetched 42"), result)


def told(outside, sandbox):
    """The world's authority, for tools that trust it by name."""
    with open(outside.authority, "rb") as file:
        sandbox.put("/tmp/authority.pem", file.read())
    with open(outside.folder + "/authority.p12", "rb") as file:
        sandbox.put("/tmp/authority.p12", file.read())
    return tools.TRUST | tools.TOLD


def main(build, wanted):
    run = Run()
    with world.World() as outside:
        goods.make(outside.folder)
        subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "world", "-file", outside.authority, "-keystore",
                        outside.folder + "/authority.p12", "-storepass", "changeit"], check=True, capture_output=True)
        with GitOverSsh(outside) as git, Database(outside) as database:
            for setting in ("root", "rootless"):
                with Place(build, outside, setting == "rootless") as place:
                    sandbox = place.sandbox(POLICY)
                    env = told(outside, sandbox)
                    for name in tools.FETCH:
                        if not wanted or name in wanted:
                            run.tool(setting, sandbox, name, env)
                    for service in (git, database):
                        if not wanted or service.name in wanted:
                            service.prepare(sandbox)
                            result = sandbox.exec("sh", "-c", service.command)
                            run.check(f"{setting}: {service.name}", "fetched 42" in text(result["stdout"]), result)
                    sandbox.remove()
    print(f"{run.count - len(run.failed)} tools fetched what they may, {len(run.failed)} failed: {' '.join(run.failed)}")
    return 1 if run.failed or not run.count else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
