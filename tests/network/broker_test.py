#!/usr/bin/python3
"""Secrets that are used inside without being there: broker_test.py BUILD. Real clients with a real TLS server; then all that is inside
is searched for the value: environment, files, memory, and what passed its network."""

import base64
import os
import subprocess
import sys
import tempfile

import goods
import tools
import world
from place import Place, text
from web import TOKEN

ATTEMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attempts")
NAME = "GITHUB_TOKEN"
SITE = "https://web.example.org"
PRIVATE = SITE + "/private/git/" + goods.NAME + ".git"
POLICY = {"tier": "standard", "allow": ["*.example.org"]}
SECRET = {"name": NAME, "value": TOKEN, "use": "brokered", "hosts": ["web.example.org", "untrusted.example.org"]}

# Each ends with `fetched 42`, with the secret put in on the way.
WITH_SECRET = {
    "bearer": f"curl -sSf -H \"Authorization: Bearer ${NAME}\" {SITE}/private/simple/{goods.NAME}/ | grep -q whl && echo fetched 42",
    "token": f"curl -sSf -H \"Authorization: token ${NAME}\" {SITE}/private/simple/{goods.NAME}/ | grep -q whl && echo fetched 42",
    "basic": f"curl -sSf -u \"x-access-token:${NAME}\" {SITE}/private/simple/{goods.NAME}/ | grep -q whl && echo fetched 42",
    "proxy": f"curl -sSf -x http://10.0.2.3:3128 -H \"Authorization: Bearer ${NAME}\" {SITE}/private/simple/{goods.NAME}/ | grep -q whl && "
             "echo fetched 42",
    "git": "git clone -q https://x-access-token:$" + NAME + f"@web.example.org/private/git/{goods.NAME}.git /tmp/private && cd /tmp/private && "
           "git config user.name n && git config user.email e@example.org && B=more$(date +%N) && git checkout -q -b $B && echo 1 > more && git add . && "
           "git commit -q -m more && git push -q origin $B && echo fetched 42",
}


class Run:
    def __init__(self, outside, place, setting):
        self.outside = outside
        self.place = place
        self.setting = setting
        self.failed = []
        self.count = 0
        place.client.expect((200, 201), "POST", "/v1/secrets", SECRET)
        self.sandbox = place.sandbox(POLICY, secrets=[NAME])
        self.placeholder = self.sandbox.run("printenv", NAME).strip()

    def check(self, name, holds, why=""):
        self.count += 1
        if not holds:
            self.failed.append(f"{self.setting}: {name}")
            print(f"FAILED {self.setting}: {name}: {str(why)[-2000:]}", flush=True)

    def shell(self, words, **more):
        result = self.sandbox.exec("sh", "-c", words, **more)
        return text(result["stdout"]), result

    def requests(self, mark, part):
        return [entry for entry in self.outside.journal(mark) if entry["kind"] == "http" and part in entry["target"]]

    # --- what is checked ---

    def placeholder_looks_right(self):
        self.check("the placeholder has the value's form", self.placeholder != TOKEN and len(self.placeholder) == len(TOKEN) and
                   self.placeholder.startswith("ghp_"), self.placeholder)
        listed = self.place.client.expect(200, "GET", "/v1/secrets").data.decode()
        self.check("values are never listed", NAME in listed and TOKEN not in listed, listed)

    def clients_succeed(self):
        for name, words in WITH_SECRET.items():
            said, result = self.shell(words)
            self.check(f"with the secret: {name}", said.strip().endswith("fetched 42"), result)
        for name in tools.FETCH:
            said, result = self.shell(tools.FETCH[name], stdin=tools.INPUT.get(name, ""))
            self.check(f"trusts the sandbox's authority: {name}", said.strip().endswith("fetched 42"), result)

    def answers_are_scrubbed(self):
        said, result = self.shell(f'curl -sS -H "Authorization: Bearer ${NAME}" {SITE}/echo')
        self.check("an answer that repeats the value has the placeholder", self.placeholder in said and TOKEN not in said, result)
        encoded = base64.b64encode(f"x:{TOKEN}".encode()).decode()
        said, result = self.shell(f'curl -sS -u "x:${NAME}" {SITE}/echo')
        self.check("also in base64", encoded not in said and '"to"' in said, result)

    def goes_nowhere_else(self):
        for name, words in (("in cleartext", "http://web.example.org/clear"), ("to another host", "-k https://other.example.org/clear"),
                            ("after a redirect", f"-k -L --location-trusted {SITE}/redirect?https://other.example.org/clear"),
                            ("to another host in the path of an allowed one", f"{SITE}/clear?${NAME}")):
            mark = self.outside.mark()
            _, result = self.shell(f'curl -sS -H "Authorization: Bearer ${NAME}" -H "X-Other: ${NAME}" {words}')
            seen = self.requests(mark, "/clear")
            leaked = [entry for entry in seen if TOKEN in str(entry) and (not entry["tls"] or "other." in str(entry["headers"].get("host")) or
                                                                          TOKEN in entry["target"] or
                                                                          TOKEN in entry["headers"].get("x-other", ""))]
            self.check(f"never {name}", seen and not leaked, (leaked, result))
        mark = self.outside.mark()
        _, result = self.shell(f'curl -sS -k -H "Authorization: Bearer ${NAME}" https://web.example.org:8443/clear')
        seen = self.requests(mark, "/clear")
        self.check("never to another port", seen and TOKEN not in str(seen), (seen, result))

    def upstream_is_verified(self):
        mark = self.outside.mark()
        said, result = self.shell(f'curl -sS -k -H "Authorization: Bearer ${NAME}" https://untrusted.example.org/untrusted')
        self.check("a server that is not trusted gets nothing", not self.requests(mark, "/untrusted") and '"to"' not in said, result)

    def others_are_not_intercepted(self):
        said, result = self.shell("openssl s_client -connect other.example.org:443 -servername other.example.org </dev/null 2>/dev/null | "
                                  "openssl x509 -noout -issuer")
        self.check("hosts without a secret keep their certificates", "The world" in said, result)

    def nothing_is_inside(self):
        """A program that has just used it, and holds what it got, is searched, too."""
        with open(f"{ATTEMPTS}/dump.py", "rb") as file:
            self.sandbox.put("/tmp/dump.py", file.read())
        holder = (f"import os, time, urllib.request as u; r = u.Request('{SITE}/echo', headers={{'Authorization': 'Bearer ' + "
                  f"os.environ['{NAME}']}}); a = u.urlopen(r).read(); print(len(a), flush=True); time.sleep(600)")
        self.place.client.expect(201, "POST", self.sandbox.path + "/execs", {"argv": ["/usr/bin/python3", "-c", holder], "detach": True})
        for label, wanted in (("value", TOKEN.encode()), ("value in base64", base64.b64encode(TOKEN.encode())[4:44])):
            result = self.sandbox.exec("/usr/bin/python3", "/tmp/dump.py", wanted.hex(), user="root")
            self.check(f"the {label} is nowhere inside", result["exit_code"] == 0 and not text(result["stdout"]).strip(), result)
        control = self.sandbox.exec("/usr/bin/python3", "/tmp/dump.py", self.placeholder.encode().hex(), user="root")
        self.check("the search finds the placeholder", self.placeholder and text(control["stdout"]).strip(), control)

    def nothing_passes_its_network(self):
        pid = self.process_one()
        with tempfile.NamedTemporaryFile() as captured:
            words = ["nsenter", f"--net=/proc/{pid}/ns/net", sys.executable, os.path.dirname(os.path.abspath(__file__)) + "/sniff_inside.py"]
            sniffer = subprocess.Popen(words, stdout=captured, stderr=subprocess.PIPE)
            sniffer.stderr.readline()
            self.shell(WITH_SECRET["bearer"])
            self.shell(f'curl -sS -H "Authorization: Bearer ${NAME}" http://web.example.org/clear')
            sniffer.kill()
            sniffer.wait()
            with open(captured.name, "rb") as file:
                data = file.read()
        self.check("only the placeholder passes inside", self.placeholder.encode() in data and TOKEN.encode() not in data, len(data))

    def process_one(self):
        """The number outside of a process of the sandbox's."""
        result = self.sandbox.exec("readlink", "/proc/self/ns/net")
        wanted = text(result["stdout"]).strip()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/net") == wanted:
                    return pid
            except OSError:
                pass
        raise AssertionError("no process of the sandbox")

    def nothing_is_stored(self):
        """Outside, too, it lies encrypted only."""
        self.sandbox.remove()
        self.place.server.stop()
        found = subprocess.run(["grep", "-rlaF", "--exclude=pool.img", TOKEN, self.place.server.folder], capture_output=True, text=True).stdout
        self.check("the value is in no file of the server's", not found.strip(), found)
        self.place.client.close()
        self.place.server.start()


def main(build, wanted):
    failed, count = [], 0
    with world.World() as outside:
        goods.make(outside.folder)
        for setting in ("root", "rootless"):
            with Place(build, outside, setting == "rootless") as place:
                run = Run(outside, place, setting)
                for each in (run.placeholder_looks_right, run.clients_succeed, run.answers_are_scrubbed, run.goes_nowhere_else,
                             run.upstream_is_verified, run.others_are_not_intercepted, run.nothing_is_inside,
                             run.nothing_passes_its_network, run.nothing_is_stored):
                    if not wanted or each.__name__ in wanted:
                        each()
                failed += run.failed
                count += run.count
    print("\n".join(failed))
    print(f"{count - len(failed)} hold, {len(failed)} failed")
    return 1 if failed or not count else 0


sys.exit(main(sys.argv[1], sys.argv[2:]))
