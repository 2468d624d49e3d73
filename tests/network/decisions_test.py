#!/usr/bin/python3
"""What people decide about a network, with real connections: decisions_test.py BUILD. Layers, approvals, learning, what an exec is
told, and what a restart keeps; on a server of root's and on a rootless one."""

import json
import os
import signal
import subprocess
import sys
import time

import world
from place import Place

PATIENCE = 20
CURL = ("curl", "--silent", "--show-error", "--fail", "--max-time", "20")
WEB, OTHER = "http://web.example.org/", "http://other.example.org/"
STANDARD = {"tier": "standard", "allow": ["web.example.org"]}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def becomes(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < deadline, what)
        time.sleep(0.02)


def reaches(sandbox, url, **more):
    return sandbox.exec(*CURL, url, **more)["exit_code"] == 0


def requests(sandbox):
    return sandbox.client.expect(200, "GET", sandbox.path + "/network/requests").json()["items"]


def decide(sandbox, status=200, **body):
    return sandbox.client.expect(status, "POST", sandbox.path + "/network/requests", body).json()


def policy(sandbox):
    return sandbox.client.expect(200, "GET", sandbox.path + "/network").json()


# --- the tests -------------------------------------------------------------------------------------------------------

def an_exec_is_told_what_it_used_and_was_denied(place):
    sandbox = place.sandbox(STANDARD)
    result = sandbox.exec(*CURL, WEB)
    check(result["exit_code"] == 0 and result["denials"] == [], result)
    check(result["usage"]["net_in_bytes"] > 100 and result["usage"]["net_out_bytes"] > 50, result["usage"])
    result = sandbox.exec("sh", "-c", f"{' '.join(CURL)} {OTHER}; {' '.join(CURL)} {OTHER}")
    check(result["exit_code"] != 0, result)
    check([denial["host"] for denial in result["denials"]] == ["other.example.org"], result["denials"])
    check(result["denials"][0]["rule"].startswith("other.example.org"), result["denials"])
    check(result["denials"][0]["code"] == "not_allowed" and result["denials"][0]["hint"], result["denials"])
    quiet = sandbox.exec("true")
    check(quiet["usage"]["net_in_bytes"] == 0 and quiet["denials"] == [], quiet)


def an_exec_may_have_no_network(place):
    sandbox = place.sandbox(STANDARD)
    check(reaches(sandbox, WEB), "it does not reach what it may")
    check(not reaches(sandbox, WEB, network={"tier": "sandbox"}), "it has a network")
    sandbox.client.expect(422, "POST", sandbox.path + "/execs", {"argv": ["true"], "network": {"tier": "standard"}})
    sandbox.client.expect(422, "POST", sandbox.path + "/execs",
                          {"argv": ["true"], "network": {"tier": "sandbox", "allow": ["web.example.org"]}})


def one_call_has_its_own_network(place):
    for network, reached in ((STANDARD, True), ({"tier": "sandbox"}, False), ({"tier": "standard"}, False)):
        result = place.client.expect(200, "POST", "/v1/execute", {"argv": [*CURL, WEB], "network": network}).json()
        check((result["exit_code"] == 0) == reached, f"{network}: {result}")


def what_is_beside_the_server_needs_approve(place):
    key = place.client.expect(201, "POST", "/v1/keys", {"name": "rules", "scopes": ["read", "run", "manage"]}).json()["key"]

    def status(path, body):
        words = ["curl", "--silent", "--unix-socket", place.server.socket, "--header", f"Authorization: Bearer {key}", "--header",
                 "Content-Type: application/json", "--output", "/dev/null", "--write-out", "%{http_code}", "--data", json.dumps(body),
                 f"http://localhost{path}"]
        return int(subprocess.run(words, capture_output=True, text=True).stdout)
    for rule in ("127.0.0.1", world.METADATA, world.MACHINE, f"[{world.MACHINE6}]", "10.0.0.0/8", "0.0.0.0/0"):
        network = {"tier": "standard", "allow": [rule]}
        check(status("/v1/sandboxes", {"network": network}) == 403, f"a sandbox with {rule} is made")
        check(status("/v1/sessions", {"network": network}) == 403, f"a session with {rule} is made")
        check(status("/v1/execute", {"argv": ["true"], "network": network}) == 403, f"a command with {rule} is run")
    check(status("/v1/execute", {"argv": ["true"], "network": {"tier": "standard", "allow": [world.WEB]}}) == 200, "nothing is allowed")
    place.sandbox({"tier": "standard", "allow": ["127.0.0.1", world.MACHINE]})


def a_denial_is_approved(place):
    sandbox = place.sandbox(STANDARD)
    check(not reaches(sandbox, OTHER), "it reaches what it may not")
    becomes(lambda: requests(sandbox), "there is no request")
    [request] = requests(sandbox)
    decide(sandbox, 409, id=request["id"], rule="*.example.org", approve="session")
    check(not reaches(sandbox, OTHER), "another rule was approved")
    check(decide(sandbox, id=request["id"], rule=request["rule"], approve="session")["state"] == "approved", "not approved")
    check(reaches(sandbox, OTHER), "it does not reach what was approved")
    check(not reaches(sandbox, "http://evil.example.net/"), "more was approved than asked for")


def an_approval_for_once_is_for_once(place):
    sandbox = place.sandbox(STANDARD)
    check(not reaches(sandbox, OTHER), "it reaches what it may not")
    becomes(lambda: requests(sandbox), "there is no request")
    decide(sandbox, id=requests(sandbox)[0]["id"], approve="once")
    check(reaches(sandbox, OTHER), "it does not reach what was approved")
    becomes(lambda: not reaches(sandbox, OTHER), "it is approved for ever")


def an_approval_for_always_is_for_later_sandboxes(place):
    sandbox = place.sandbox(STANDARD)
    check(not reaches(sandbox, OTHER), "it reaches what it may not")
    becomes(lambda: requests(sandbox), "there is no request")
    request = decide(sandbox, id=requests(sandbox)[0]["id"], approve="always")
    later = place.sandbox(STANDARD)
    check(reaches(later, OTHER), "a later sandbox does not reach it")
    rules = "/v1/projects/default/network/rules"
    [rule] = place.client.expect(200, "GET", rules).json()["items"]
    check(rule["rule"] == request["rule"], rule)
    place.client.expect(204, "DELETE", f"{rules}?subject={rule['subject']}&rule={rule['rule']}")
    check(not reaches(later, OTHER), "it is reached after the rule was withdrawn")


def a_change_cuts_what_is_open(place):
    sandbox = place.sandbox(STANDARD)
    transfer = place.client.expect(201, "POST", sandbox.path + "/execs", {
        "argv": ["curl", "--silent", "--no-buffer", WEB + "drip/100000"], "detach": True}).json()
    becomes(lambda: any(entry["stage"] == "opened" for entry in sandbox.log()), "it does not begin")
    sandbox.patch({"allow": ["other.example.org"]})
    state = lambda: place.client.expect(200, "GET", f"{sandbox.path}/execs/{transfer['id']}").json()
    becomes(lambda: state()["state"] == "ended", "the transfer goes on")
    check(state()["result"]["exit_code"] not in (0, None), state())


def all_layers_must_allow(place):
    sandbox = place.sandbox({"tier": "standard", "allow": ["web.example.org", "other.example.org"]})
    check(reaches(sandbox, WEB) and reaches(sandbox, OTHER), "it does not reach what it may")
    project = "/v1/projects/default"
    try:
        place.client.expect(200, "PATCH", project, {"network": {"allow": ["other.example.org"]}})
        check(not reaches(sandbox, WEB) and reaches(sandbox, OTHER), "the project's bound does not act")
        verdict = place.client.expect(200, "GET", sandbox.path + "/network/check?host=web.example.org&port=80").json()
        check(not verdict["allowed"] and verdict["layer"] == "project", verdict)
        place.client.expect(200, "PATCH", project, {"network": {"enabled": False}})
        check(not reaches(sandbox, OTHER), "the project's network is cut")
    finally:
        place.client.expect(200, "PATCH", project, {"network": {"enabled": True, "allow": []}})
    check(reaches(sandbox, WEB), "it does not reach what it may again")


def a_sessions_network_is_its_sandboxs(place):
    session = place.client.expect(201, "POST", "/v1/sessions", {"network": STANDARD}).json()
    execs = f"/v1/sessions/{session['id']}/execs?wait=true"

    def reached(url):
        return place.client.expect(200, "POST", execs, {"argv": [*CURL, url]}).json()["exit_code"] == 0
    check(reached(WEB) and not reached(OTHER), "the session's policy does not hold")
    place.client.expect(200, "PATCH", f"/v1/sessions/{session['id']}", {"network": {"allow": ["other.example.org"]}})
    check(reached(OTHER) and not reached(WEB), "the change does not act")
    place.client.expect(204, "DELETE", f"/v1/sessions/{session['id']}")


def a_running_sandbox_gets_a_network(place):
    sandbox = place.sandbox()
    check(not reaches(sandbox, WEB), "it has a network")
    sandbox.patch(STANDARD)
    check(reaches(sandbox, WEB), "it got none")
    sandbox.patch({"enabled": False})
    check(not reaches(sandbox, WEB), "it was not cut")
    sandbox.client.expect(200, "POST", sandbox.path + "/stop", {})
    sandbox.patch({"enabled": True})
    sandbox.client.expect(200, "POST", sandbox.path + "/start", {})
    check(reaches(sandbox, WEB), "it has none after a start")


def learning_proposes_rules(place):
    sandbox = place.sandbox({"tier": "standard", "learn": True})
    check(reaches(sandbox, OTHER), "it does not let through what no list names")
    rules = lambda: place.client.expect(200, "GET", sandbox.path + "/network/learned").json()["rules"]
    becomes(lambda: rules() == ["other.example.org:80"], f"it proposes {rules()}")


def the_log_is_followed(place):
    sandbox = place.sandbox(STANDARD)
    check(reaches(sandbox, WEB), "it does not reach what it may")
    becomes(lambda: any(entry["stage"] == "closed" and entry["in_bytes"] > 0 for entry in sandbox.log()), "no end is logged")
    stream = subprocess.Popen(["curl", "--silent", "--no-buffer", "--max-time", "60", "--unix-socket", place.server.socket, "-H",
                               "Accept: text/event-stream", f"http://localhost{sandbox.path}/network/log"],
                              stdout=subprocess.PIPE, text=True)
    check(stream.stdout.readline().startswith("id: ") and stream.stdout.readline() == "event: entry\n", "it begins otherwise")
    check("web.example.org" in stream.stdout.readline(), "the entry is another")
    sandbox.exec(*CURL, OTHER)
    denied = next((line for line in stream.stdout if "other.example.org" in line), "")
    check('"allowed":false' in denied, f"what comes later is {denied}")
    sandbox.remove()
    check(stream.wait(PATIENCE) == 0, "the stream outlives the sandbox")


def the_next_server_goes_on(place):
    sandbox = place.sandbox(STANDARD)
    check(reaches(sandbox, WEB) and not reaches(sandbox, OTHER), "its policy does not hold")
    becomes(lambda: requests(sandbox), "there is no request")
    version, request = policy(sandbox)["version"], requests(sandbox)[0]
    place.server.kill("both")
    place.client.close()
    place.server.start()
    check(reaches(sandbox, WEB) and not reaches(sandbox, OTHER), "its policy does not hold any more")
    check(policy(sandbox)["version"] >= version, "the version is lower than before")
    decide(sandbox, id=request["id"], approve="session")
    check(reaches(sandbox, OTHER), "the approval does not act")


def the_next_gateway_goes_on(place):
    sandbox = place.sandbox(STANDARD)
    check(reaches(sandbox, WEB), "it does not reach what it may")
    os.kill(gateway(place), signal.SIGKILL)
    becomes(lambda: reaches(sandbox, WEB), "it does not come back")
    check(not reaches(sandbox, OTHER), "its policy does not hold any more")


def gateway(place):
    ours = os.stat(f"/run/netns/{place.outside.machine}").st_ino
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().startswith(b"cove-gateway\0") and os.stat(f"/proc/{pid}/ns/net").st_ino == ours:
                    return int(pid)
        except OSError:
            continue
    raise AssertionError("no gateway runs")


TESTS = (an_exec_is_told_what_it_used_and_was_denied, an_exec_may_have_no_network, one_call_has_its_own_network,
         what_is_beside_the_server_needs_approve, a_denial_is_approved, an_approval_for_once_is_for_once, an_approval_for_always_is_for_later_sandboxes,
         a_change_cuts_what_is_open, all_layers_must_allow, a_sessions_network_is_its_sandboxs, a_running_sandbox_gets_a_network, learning_proposes_rules,
         the_log_is_followed, the_next_server_goes_on, the_next_gateway_goes_on)


def main(build, *names):
    failed = 0
    for rootless in (False, True):
        with world.World() as outside, Place(build, outside, rootless) as place:
            for test in TESTS:
                if names and test.__name__ not in names:
                    continue
                try:
                    test(place)
                    print(f"ok: {'rootless' if rootless else 'root'}: {test.__name__}", flush=True)
                except AssertionError as error:
                    failed += 1
                    print(f"FAILED: {'rootless' if rootless else 'root'}: {test.__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
