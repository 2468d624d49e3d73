"""Single courses of events that a load does not come to: each begins with a new server."""

import contextlib
import os
import signal
import subprocess
import time

from model import LIMITS

PATIENCE = 20


def make(client, name="one", **more):
    return client.expect(201, "POST", "/v1/sandboxes", {"name": name, "limits": LIMITS, **more}).json()["id"]


def start_exec(client, sandbox, script, **more):
    body = {"argv": ["sh", "-c", script], **more}
    return client.expect(201, "POST", f"/v1/sandboxes/{sandbox}/execs", body).json()["id"]


def wait_for(look, what):
    until = time.monotonic() + PATIENCE
    while not (found := look()):
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {PATIENCE} s")
        time.sleep(0.02)
    return found


def wait_for_state(client, sandbox, state):
    def look():
        info = client.expect(200, "GET", f"/v1/sandboxes/{sandbox}").json()
        return info if info["state"] == state else None
    return wait_for(look, f"sandbox {sandbox} is {state}")


def wait_for_end(client, sandbox, exec):
    def look():
        return client.expect(200, "GET", f"/v1/sandboxes/{sandbox}/execs/{exec}").json()["result"]
    return wait_for(look, f"exec {exec} ends")


def check(holds, text):
    if not holds:
        raise AssertionError(text)


def kill_process_ones(server):
    for pid in server._process_ones():
        with contextlib.suppress(ProcessLookupError):  # one that was kept ready, and was not needed any more
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not server._process_ones(), "process 1 is gone")


def check_starts_again(client, sandbox):
    client.expect(200, "POST", f"/v1/sandboxes/{sandbox}/start")
    content = client.expect(200, "GET", f"/v1/sandboxes/{sandbox}/files?path=/home/user/kept").data
    check(content == b"kept", f"the file is {content!r} after the start")
    result = client.expect(200, "POST", f"/v1/sandboxes/{sandbox}/execs?wait=true", {"argv": ["echo", "fine"]}).json()
    check(result["stdout"]["text"] == "fine\n", f"echo: {result}")


def put_kept(client, sandbox):
    client.expect(201, "PUT", f"/v1/sandboxes/{sandbox}/files?path=/home/user/kept", b"kept")


def process_1_is_killed(server):
    client = server.client()
    sandbox = make(client)
    put_kept(client, sandbox)
    exec = start_exec(client, sandbox, "echo begun; sleep 1000")
    kill_process_ones(server)
    info = wait_for_state(client, sandbox, "stopped")
    check(info["reason"], "it is stopped without a reason")
    result = wait_for_end(client, sandbox, exec)
    check(result["status"] == "killed", f"the exec's result: {result}")
    check_starts_again(client, sandbox)


def process_1_is_killed_without_a_server(server):
    client = server.client()
    sandbox = make(client)
    put_kept(client, sandbox)
    exec = start_exec(client, sandbox, "echo begun; sleep 1000")
    wait_for(lambda: b"begun" in client.expect(200, "GET", f"/v1/sandboxes/{sandbox}/execs/{exec}/output").data, "output")
    server.kill("both")
    client.close()
    kill_process_ones(server)
    server.start()
    info = wait_for_state(client, sandbox, "stopped")
    check(info["reason"], "it is stopped without a reason")
    result = wait_for_end(client, sandbox, exec)
    check(result["status"] == "killed" and result["stdout"]["text"] == "begun\n", f"the exec's result: {result}")
    check_starts_again(client, sandbox)


def the_machine_restarts(server):
    """Nothing runs any more; what lies on the disk is there."""
    client = server.client()
    ids = [make(client, f"box{i}") for i in range(3)]
    for sandbox in ids:
        put_kept(client, sandbox)
    client.expect(200, "POST", f"/v1/sandboxes/{ids[1]}/pause")
    client.expect(200, "POST", f"/v1/sandboxes/{ids[2]}/stop")
    server.kill("both")
    client.close()
    for sandbox in server._groups():  # a frozen process does not hear the kill
        thaw(server, sandbox)
    kill_process_ones(server)
    server.start()
    for sandbox in ids:
        wait_for_state(client, sandbox, "stopped")
        check_starts_again(client, sandbox)


def thaw(server, sandbox):
    for folder in server._group_folders():
        if folder.endswith(sandbox) and os.path.exists(folder + "/freezer.state"):
            with open(folder + "/freezer.state", "w") as file:
                file.write("THAWED")
        elif folder.endswith(sandbox) and os.path.exists(folder + "/cgroup.freeze"):
            with open(folder + "/cgroup.freeze", "w") as file:
                file.write("0")


def a_second_server_is_refused(server):
    client = server.client()
    sandbox = make(client)
    second = subprocess.run([server.programs + "/cove-spawn", "serve", "--set", f"listen=unix:{server.folder}/other.sock"],
                            env={"PATH": os.environ["PATH"], "COVE_STATE": server.state}, capture_output=True, timeout=30)
    check(second.returncode != 0 and second.stderr, f"the second one ended with {second.returncode}: {second.stderr}")
    result = client.expect(200, "POST", f"/v1/sandboxes/{sandbox}/execs?wait=true", {"argv": ["echo", "fine"]}).json()
    check(result["stdout"]["text"] == "fine\n", f"echo in the first one: {result}")


def long_input_survives(server):
    """It was part of a request that was acknowledged: the program must get all of it, and its end."""
    client = server.client()
    sandbox = make(client)
    exec = start_exec(client, sandbox, "sleep 0.5; wc -c", stdin="x" * 1000000)
    server.kill("both")
    client.close()
    server.start()
    result = wait_for_end(client, sandbox, exec)
    check(result["stdout"]["text"] == "1000000\n", f"of a million bytes of input came {result['stdout']['text']!r}")


def open_input_goes_on(server):
    client = server.client()
    sandbox = make(client)
    exec = start_exec(client, sandbox, "cat")
    path = f"/v1/sandboxes/{sandbox}/execs/{exec}/stdin"
    client.expect(204, "POST", path, b"before\n")
    server.kill("coved")
    client.close()
    server.start()
    client.expect(204, "POST", path + "?close=true", b"after\n")
    result = wait_for_end(client, sandbox, exec)
    check(result["stdout"]["text"] == "before\nafter\n" and result["exit_code"] == 0, f"cat: {result}")


def a_full_pipe_makes_the_program_wait(server):
    """Without a server nobody reads: nothing is lost, and the program goes on with the next one."""
    client = server.client()
    sandbox = make(client)
    exec = start_exec(client, sandbox, "sleep 0.3; seq 1 100000; echo end >&2", stdin=None)
    server.kill("both")
    client.close()
    time.sleep(1)  # the program must come to the full pipe: there is nobody who could tell that it has
    server.start()
    result = wait_for_end(client, sandbox, exec)
    expected = "".join(f"{i}\n" for i in range(1, 100001))
    check(result["stdout"]["text"] == expected, f"{result['stdout']['bytes']} bytes of {len(expected)}")
    check(result["stderr"]["text"] == "end\n" and result["exit_code"] == 0, f"{result['stderr']}, {result['exit_code']}")


ALL = [process_1_is_killed, process_1_is_killed_without_a_server, the_machine_restarts, a_second_server_is_refused,
       open_input_goes_on, a_full_pipe_makes_the_program_wait, long_input_survives]
