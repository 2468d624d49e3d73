"""Contexts over the API: what cases cannot say. Each test gets the house and a painter."""

import json
import threading
import time

import painter as painting
import remote
import runner

DRAW = "import matplotlib.pyplot as plt\nlines = plt.plot([1, 4, 9])\n"
SAY = """import os
def say(data):
    printed = {os.fstat(fd).st_ino for fd in (1, 2)}
    for fd in range(690, 710):
        try:
            if os.fstat(fd).st_ino not in printed:
                os.write(fd, data + b'\\n')
        except OSError: pass"""
STUBBORN = "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        pass"


# A child, one in a session of its own, one of root's, and a loop that hears nothing.
STARTS = {
    ("python", "python"): """import subprocess, signal
subprocess.Popen(['bash', '-c', 'exec -a plain sleep 987'])
subprocess.Popen(['bash', '-c', 'exec -a apart sleep 987'], start_new_session=True)
subprocess.Popen(['sudo', 'bash', '-c', 'trap "" HUP; exec -a lifted sleep 987'])
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
print('up', flush=True)
while True: pass""",
    ("javascript", "node"): """const { spawn } = require('child_process');
spawn('bash', ['-c', 'exec -a plain sleep 987']);
spawn('bash', ['-c', 'exec -a apart sleep 987'], { detached: true });
spawn('sudo', ['bash', '-c', 'trap "" HUP; exec -a lifted sleep 987']);
console.log('up');
setTimeout(() => { for (;;); }, 1);
await new Promise(() => {})""",
}
LEFT = "ps -eo args= | grep -oE '^(plain|apart|lifted|[a-z/]*(node|python))' || true"


def expect(condition, what=""):
    if not condition:
        raise AssertionError(what)


def expect_picture(painter, result, code):
    figures = [each["formats"]["png"] for each in result["results"] if "png" in each["formats"]]
    expect(len(figures) == 1, f"{len(figures)} figures: {result['stderr']}")
    different = painting.differences(painter, code, figures[0])
    expect(not different, different)


def several_contexts_of_a_sandbox(house, painter):
    sandbox = house.sandbox()
    one, two, script = sandbox.context(name="one"), sandbox.context(cwd="/tmp"), sandbox.context("javascript")
    one.run("x = 1")
    two.run("x = 2")
    script.run("const x = 3")
    expect([each.value("x") for each in (one, two, script)] == ["1", "2", "3"])
    expect(two.value("import os; os.getcwd()") == "'/tmp'")
    listed = {each["id"]: each for each in sandbox.call(200, "GET", "/contexts")["items"]}
    expect(all(listed[each.id] == each.info for each in (one, two, script)), listed)
    expect(sandbox.run(context="one", code="x")["context_id"] == one.id)
    sandbox.call(204, "DELETE", "/contexts/one")
    sandbox.call(404, "GET", f"/contexts/{one.id}")
    sandbox.call(404, "POST", "/execs?wait=true", {"context": "one", "code": "1"})
    expect(two.value("x") == "2")
    two.close()
    script.close()


def names_of_contexts(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context(name="dup")
        problem = sandbox.call(409, "POST", "/contexts", {"name": "dup"})
        expect(problem["code"] == "exists" and context.id in problem["detail"], problem)
        for name in ("default", "default-python", "a/b", "a\nb", "\x7f", "ü" * 65):
            sandbox.call(400, "POST", "/contexts", {"name": name})
        sandbox.context(name="ü" * 64).close()
        for language in ("javascript", "python@2"):
            problem = sandbox.call(409, "POST", "/execs?wait=true", {"context": "dup", "language": language, "code": "1"})
            expect("it is one of python" in problem["detail"], problem)
        expect(sandbox.run(context="dup", language="python@3", code="1")["status"] == "success")
        sandbox.call(404, "GET", "/contexts/default")
        made = sandbox.run(context="default", code="x = 1")["context_id"]
        expect(sandbox.call(200, "GET", "/contexts/default")["id"] == made)
        sandbox.call(204, "POST", "/contexts/default/interrupt")
        expect(sandbox.call(200, "POST", "/contexts/default/restart")["id"] != made)
        sandbox.call(204, "DELETE", "/contexts/default")


def the_default_context_is_made_once(house, painter):
    with house.make_sandbox() as sandbox:
        first = sandbox.run(context="default", code="x = 5")
        second = sandbox.run(context="default", code="x")
        expect(first["context_id"] == second["context_id"] and second["results"][0]["formats"]["text"] == "5", second)
        third = sandbox.run(context="default", language="javascript", code="typeof x")
        expect(third["context_id"] != first["context_id"] and third["results"][0]["formats"]["text"] == "'undefined'", third)


def an_interpreter_that_does_not_start_holds_up_nobody_else(house, painter):
    with house.make_sandbox() as hung, house.make_sandbox() as other:
        path = hung.shell("python3 -c 'import site; print(site.getusersitepackages(), end=\"\")'")
        hung.shell(f"mkdir -p {path}")
        hung.write(f"{path}/usercustomize.py", b"import time\nopen('/tmp/hangs', 'w')\ntime.sleep(8)\n")
        waiting = threading.Thread(target=remote.Events, args=(house, hung.path + "/execs", {"context": "default", "code": "1"}))
        waiting.start()
        hung.shell("while ! test -e /tmp/hangs; do sleep 0.05; done")
        expect(other.run(context="default", code="1")["status"] == "success")
        expect(waiting.is_alive(), "the other one waited, too")
        waiting.join()


def output_is_streamed_while_the_code_runs(house, painter):
    sandbox = house.sandbox()
    context = sandbox.context()
    events = context.stream("import os, sys, time\nprint('one')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('two', file=sys.stderr)\n3")
    expect(events.next() == ("stdout", {"seq": 1, "text": "one\n"}))
    sandbox.write("go", b"")
    expect(events.next() == ("stderr", {"seq": 2, "text": "two\n"}))
    expect(events.next() == ("result", {"seq": 3, "main": True, "formats": {"text": "3"}}))
    name, data = events.next()
    expect(name == "exit" and data["seq"] == 4 and data["result"]["status"] == "success", data)
    expect(events.next() is None, "more")
    context.close()


def code_is_an_exec_on_record(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context()
        result = context.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n42")
        path = f"/execs/{result['exec_id']}"
        exec = sandbox.call(200, "GET", path)
        expect(exec["state"] == "ended" and exec["context_id"] == context.id and exec["result"] == result, exec)
        listed = [each for each in sandbox.call(200, "GET", "/execs?state=ended")["items"] if each["id"] == exec["id"]]
        expect(listed == [exec], listed)
        output = sandbox.call(200, "GET", path + "/output")
        texts = {stream: "".join(each["text"] for each in output["chunks"] if each["stream"] == stream) for stream in ("stdout", "stderr")}
        expect(output["ended"] and texts == {"stdout": "out\n", "stderr": "err\n"} and output["result"] == result, output)
        failed = context.run("1/0")
        expect(sandbox.call(200, "GET", f"/execs/{failed['exec_id']}")["result"]["error"]["name"] == "ZeroDivisionError")
        sandbox.call(409, "POST", path + "/stdin", {"text": "x"})
        context.close()


def code_that_runs_is_listed_and_can_be_killed(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context()
        context.run("x = 1")
        for code, survives in (("print('up', flush=True)\nimport time\ntime.sleep(100)", True),
                               ("import time\nprint('up', flush=True)\nwhile True:\n try: time.sleep(100)\n except KeyboardInterrupt: pass", False)):
            events = context.stream(code, limits={"grace": "1s"})
            expect(events.next() == ("stdout", {"seq": 1, "text": "up\n"}))
            running = [each for each in sandbox.call(200, "GET", "/execs?state=running")["items"] if each["context_id"] == context.id]
            expect(len(running) == 1 and running[0]["result"] is None, running)
            path = f"/execs/{running[0]['id']}"
            expect(sandbox.call(200, "GET", path + "/output")["chunks"][0]["text"] == "up\n")
            killed = sandbox.call(200, "DELETE", path)
            expect(killed["status"] == "killed" and killed["exec_id"] == running[0]["id"], killed)
            expect("on request" in killed["why"] and ("lost" in killed["why"]) != survives, killed["why"])
            while (event := events.next()) and event[0] != "exit":
                pass
            expect(event[1]["result"] == killed, event)
            expect(sandbox.call(200, "GET", path)["result"] == killed)
            if survives:
                expect(context.value("x") == "1")
            else:
                sandbox.call(404, "GET", f"/contexts/{context.id}")


def code_whose_caller_left_is_on_record(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context()
        events = context.stream("print('up', flush=True)\nimport time\ntime.sleep(100)")
        events.next()
        [running] = [each for each in sandbox.call(200, "GET", "/execs?state=running")["items"] if each["context_id"] == context.id]
        events.close()
        path = f"/execs/{running['id']}"
        follower = house.server.client(remote.PATIENCE)
        while not (output := follower.expect(200, "GET", f"{sandbox.path}{path}/output").json())["ended"]:
            time.sleep(0.02)
        result = output["result"]
        expect(result["status"] == "killed" and "its caller left" in result["why"], result)
        expect(result["stdout"]["text"] == "up\n", result)
        context.close()


def an_interrupt_keeps_the_variables(house, painter):
    context = house.sandbox().context()
    context.run("x = 1\nimport time")
    outcome = context.execute("print('go')\ntime.sleep(100)", interrupt_after="go\n")
    expect(outcome.status == "interrupted" and outcome.errors[0]["name"] == "KeyboardInterrupt", outcome.status)
    expect(context.value("x") == "1")
    context.close()


def a_restart_begins_anew(house, painter):
    sandbox = house.sandbox()
    context = sandbox.context(name="again", env={"GREETING": "hello"}, cwd="/tmp")
    context.run("x = 1")
    info = sandbox.call(200, "POST", f"/contexts/{context.id}/restart")
    expect(info["id"] != context.id and info["name"] == "again" and info["cwd"] == "/tmp", info)
    sandbox.call(404, "GET", f"/contexts/{context.id}")
    anew = remote.Context(sandbox, info)
    expect(anew.run("x")["error"]["name"] == "NameError")
    expect(anew.value("import os; os.environ['GREETING'], os.getcwd()") == "('hello', '/tmp')")
    anew.close()


def a_time_out_keeps_the_context(house, painter):
    context = house.sandbox().context()
    context.run("x = 1")
    result = context.run("import time\nprint('begun')\ntime.sleep(100)", timeout="1s")
    expect(result["status"] == "timeout" and result["stdout"]["text"] == "begun\n", result)
    expect(result["why"] == "it took too long, and was interrupted" and result["error"]["name"] == "KeyboardInterrupt", result)
    expect(context.value("x") == "1")
    context.close()


def the_output_of_code_is_limited(house, painter):
    sandbox = house.sandbox()
    context = sandbox.context()
    result = context.run("x = 1\nwhile True: print('y' * 1000)", limits={"output": "64k"})
    expect(result["status"] == "limit_exceeded" and result["why"].startswith("it wrote more than 64 KiB, and was"), result)
    expect(result["stdout"]["bytes"] > 65536 and result["limits"]["output"]["enforced_by"] == "counter", result)
    expect(context.value("x") == "1")
    problem = sandbox.call(422, "POST", "/execs?wait=true", {"context": context.id, "code": "1", "limits": {"memory": "1g"}})
    expect("cannot be set for one exec" in problem["detail"], problem)
    context.close()
    with house.make_sandbox(limits={"output": "64k"}) as small:  # it is no limit for all the code of a context together
        for _ in range(3):
            expect(small.run(context="default", code="print('y' * 50_000)")["status"] == "success")
        expect(small.run(context="default", code="print('y' * 70_000)")["status"] == "limit_exceeded")


def a_result_has_its_language_and_limits(house, painter):
    sandbox = house.sandbox()
    result = sandbox.run(context="default", code="1", timeout="20s")
    expect(result["language"]["name"] == "python" and result["language"]["image"] == "host", result)
    expect(result["limits"]["timeout"] == {"value": "20000 ms", "enforced_by": "timer"} and "memory" in result["limits"], result)
    problem = sandbox.call(400, "POST", "/execs", {"context": "default", "code": "1"})
    expect("wait=true" in problem["detail"], problem)


def results_without_room_are_told_of(house, painter):
    context = house.sandbox().context()
    result = context.run("for i in range(300): display(i)\n'main'")
    expect(len(result["results"]) == 256 and [each["formats"]["text"] for each in result["results"] if each["main"]] == ["'main'"])
    expect(result["results"][0]["formats"]["text"] == "0" and result["denials"][0]["what"] == "give back 45 of the results", result["denials"])
    result = context.run("for i in range(4): display('x' * (9 << 20))\n'main'")
    expect(len(result["results"]) == 4 and result["results"][-1]["main"] and len(result["denials"]) == 1, result["denials"])
    expect("32 MiB" in result["denials"][0]["why"], result["denials"])
    expect(context.run("1")["denials"] == [])
    result = context.run("for i in range(300): display(i)\nclear_output()\ndisplay('last')")
    expect([each["formats"]["text"] for each in result["results"]] == ["'last'"] and result["denials"] == [], result["denials"])
    result = context.run("for i in range(100):\n    clear_output(wait=True)\n    display('x' * (1 << 20))")
    expect(len(result["results"]) == 1 and result["denials"] == [], result["denials"])
    result = context.run("display('x' * (7 << 20))\nhandle = display('small', display_id=True)\nfor i in range(9): handle.update(str(i) * (7 << 20))\nfor i in range(2): display('x' * (7 << 20))\nupdate_display(handle, display_id=handle.display_id)")
    expect([len(each["formats"]["text"]) >> 20 for each in result["results"]] == [7, 0, 7, 7] and result["denials"] == [], result["denials"])
    result = context.run("for i in range(4): handle = display(str(i) * (15 << 19), display_id=True)\nhandle.update('x' * (10 << 20))")
    expect([each["formats"]["text"][1] for each in result["results"]] == list("0123") and len(result["denials"]) == 1, result["denials"])
    context.close()


def stubborn_code_loses_it(house, painter):
    sandbox = house.sandbox()
    context = sandbox.context()
    result = context.run(STUBBORN, timeout="1s", limits={"grace": "500ms"})
    expect(result["status"] == "timeout" and "the context was lost" in result["why"], result)
    sandbox.call(404, "GET", f"/contexts/{context.id}")


def code_of_a_caller_that_leaves_is_interrupted(house, painter):
    context = house.sandbox().context()
    events = context.stream("import time\ntry:\n    print('begun')\n    time.sleep(100)\nfinally:\n    x = 'left'")
    expect(events.next()[0] == "stdout")
    events.close()
    expect(context.value("x") == "'left'")
    context.close()


def code_that_waits_for_its_turn_is_given_up(house, painter):
    """By a caller that goes, and when its time is over."""
    sandbox = house.sandbox()
    context = sandbox.context()
    running = context.stream("import os, time\nran = 0\nprint('begun')\nwhile not os.path.exists('turn'): time.sleep(0.01)")
    expect(running.next()[0] == "stdout")
    gone = [remote.UnixConnection(house.server.socket, remote.PATIENCE) for _ in range(6)]
    for each in gone:
        each.request("POST", sandbox.path + "/execs?wait=true", json.dumps({"context": context.id, "code": "ran += 1"}), {"Content-Type": "application/json"})
    late = context.run("ran += 1", timeout="500ms")
    expect(late["status"] == "timeout" and "not run" in late["why"] and late["context_id"] == context.id, late)
    for each in gone:
        each.close()
    sandbox.write("turn", b"")
    expect(running.next()[0] == "exit")
    expect(context.value("ran") == "0")
    context.close()


def code_is_not_charged_for_what_ran_before_its_turn(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context()
        running = context.stream("import os\nprint('begun')\nwhile not os.path.exists('turn'): pass")
        expect(running.next()[0] == "stdout")
        answers = []
        order = {"context": context.id, "code": "1"}
        waiting = threading.Thread(target=lambda: answers.append(
            house.server.client(remote.PATIENCE).expect(200, "POST", sandbox.path + "/execs?wait=true", order).json()))
        waiting.start()
        time.sleep(1.5)
        sandbox.write("turn", b"")
        result = running.next()[1]["result"]
        waiting.join()
        spent, charged = (sum(each["usage"][kind] for kind in ("cpu_user_ms", "cpu_system_ms")) for each in (result, answers[0]))
        expect(charged < spent / 2, (charged, spent))


def errors_have_name_value_and_traceback(house, painter):
    context = house.sandbox().context()
    result = context.run("def f():\n    return {}['key']\nf()")
    expect(result["status"] == "error" and result["exit_code"] == 1 and result["why"] == "it raised KeyError", result)
    expect(result["error"]["name"] == "KeyError" and result["error"]["value"] == "'key'", result["error"])
    expect("File <cell 1>, line 2, in f" in result["error"]["traceback"], result["error"])
    expect(context.run("1")["error"] is None)
    context.close()


def the_end_of_the_interpreter_is_told(house, painter):
    sandbox = house.sandbox()
    context = sandbox.context()
    result = context.run("print('last', flush=True)\nimport os, time\ntime.sleep(0.1)\nos._exit(3)")
    expect((result["status"], result["exit_code"], result["signal"]) == ("error", 3, None), result)
    expect(result["why"] == "it ended with exit code 3, and the context's interpreter with it", result)
    expect(result["stdout"]["text"] == "last\n", result["stdout"])
    problem = sandbox.call(409, "POST", "/execs?wait=true", {"context": context.id, "code": "1"})
    expect("ended with exit code 3" in problem["detail"] and "restart" in problem["hint"], problem)
    anew = remote.Context(sandbox, sandbox.call(200, "POST", f"/contexts/{context.id}/restart"))
    result = anew.run("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\nimport time\ntime.sleep(9)")
    expect((result["status"], result["exit_code"], result["signal"]) == ("killed", None, 11), result)
    sandbox.call(404, "POST", f"/contexts/{context.id}/restart")
    sandbox.call(204, "DELETE", f"/contexts/{anew.id}")
    sandbox.call(404, "POST", f"/contexts/{anew.id}/restart")


def out_of_memory_is_told_and_a_name_comes_back(house, painter):
    with house.make_sandbox(limits={"memory": "128m"}) as sandbox:
        context = sandbox.context(name="book", env={"GREETING": "hello"}, cwd="/tmp")
        result = context.run("x = bytearray(1 << 30)")
        expect((result["status"], result["signal"], result["exit_code"]) == ("oom_killed", 9, None), result)
        expect(result["why"].startswith("exceeded the memory limit of 128"), result)
        result = sandbox.run(context="book", code="import os\nos.environ['GREETING'], os.getcwd(), 'x' in globals()")
        expect(result["results"][0]["formats"]["text"] == "('hello', '/tmp', False)" and result["context_id"] != context.id, result)
        sandbox.run(context="book", code="import os\nos._exit(0)")
        sandbox.call(409, "POST", "/execs?wait=true", {"context": "book", "language": "javascript", "code": "1"})
        sandbox.call(404, "GET", "/contexts/book")  # and was not started for that
        expect(sandbox.call(200, "POST", "/contexts/book/restart")["name"] == "book")
        sandbox.call(204, "DELETE", "/contexts/book")
        sandbox.call(404, "POST", "/execs?wait=true", {"context": "book", "code": "1"})
        sandbox.call(404, "POST", "/contexts/book/restart")


def a_pause_keeps_contexts(house, painter):
    with house.make_sandbox() as sandbox:
        context = sandbox.context()
        context.run("x = 1")
        sandbox.call(200, "POST", "/pause")
        sandbox.call(200, "POST", "/resume")
        expect(context.value("x") == "1")


def code_that_runs_is_a_use_of_the_sandbox(house, painter):
    sandbox = house.make_sandbox(lifecycle={"idle": "2s", "on_expire": "delete"})
    result = sandbox.run(context="default", code="import time\ntime.sleep(4)\n9")
    expect(result["status"] == "success" and result["results"][0]["formats"]["text"] == "9", result)
    sandbox.call(204, "DELETE", "")


def code_resumes_a_sandbox_that_may_be_resumed(house, painter):
    with house.make_sandbox(lifecycle={"auto_resume": True}) as sandbox:
        sandbox.run(context="default", code="x = 1")
        sandbox.call(200, "POST", "/pause")
        expect(sandbox.run(context="default", code="x")["results"][0]["formats"]["text"] == "1")
    with house.make_sandbox() as sandbox:
        sandbox.run(context="default", code="x = 1")
        sandbox.call(200, "POST", "/pause")
        sandbox.call(409, "POST", "/execs?wait=true", {"context": "default", "code": "x"})


def run_in_session(house, session, **order):
    return house.call(200, "POST", f"/v1/sessions/{session}/execs?wait=true", {"context": "default", **order})


def a_session_has_contexts(house, painter):
    session = house.call(201, "POST", "/v1/sessions", {"env": {"GREETING": "hello"}, "lifecycle": {"idle": "2s"}})["id"]
    first = run_in_session(house, session, code="import os, time\nx = os.environ['GREETING']")
    expect(first["status"] == "success" and first["why"].startswith("mode all"), first)
    expect(house.call(200, "GET", f"/v1/sessions/{session}")["sandbox_id"] == first["sandbox_id"])
    second = run_in_session(house, session, code="time.sleep(4)\nx")
    expect(second["status"] == "success" and second["results"][0]["formats"]["text"] == "'hello'", second)
    house.call(204, "DELETE", f"/v1/sessions/{session}")
    house.call(409, "POST", f"/v1/sessions/{session}/execs?wait=true", {"context": "default", "code": "1"})
    house.call(404, "GET", f"/v1/sandboxes/{first['sandbox_id']}")


def sessions_in_one_sandbox_have_default_contexts_of_their_own(house, painter):
    place = {"scope": "agent", "agent": f"notes-{time.monotonic_ns()}"}
    one, two = (house.call(201, "POST", "/v1/sessions", {**place, "env": {"WHO": who}})["id"] for who in ("one", "two"))
    results = [run_in_session(house, each, code="import os\nos.environ['WHO']") for each in (one, two)]
    expect([each["results"][0]["formats"]["text"] for each in results] == ["'one'", "'two'"], results)
    sandbox = remote.Sandbox(house, results[0]["sandbox_id"])
    expect(results[1]["sandbox_id"] == sandbox.id)
    house.call(204, "DELETE", f"/v1/sessions/{one}")
    expect([each["id"] for each in sandbox.call(200, "GET", "/contexts")["items"]] == [results[1]["context_id"]])
    house.call(204, "DELETE", f"/v1/sessions/{two}")
    sandbox.call(204, "DELETE", "")


def until(condition, what):
    end = time.monotonic() + 20
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.05)


def a_deleted_context_takes_all_with_it_without_control_groups(house, painter):
    """Of an ordinary user, who has none."""
    own = remote.House(house.build, uid=12345)
    try:
        own.start()
        with own.make_sandbox() as sandbox:
            for (language, program), code in STARTS.items():
                context = sandbox.context(language)
                events = context.stream(code)
                while "up" not in (event := events.next())[1].get("text", ""):
                    expect(event[0] != "exit", event)
                until(lambda: all(name in sandbox.shell(LEFT) for name in ("plain", "apart", "lifted", program)), f"{language} has started nothing")
                context.close()
                until(lambda: sandbox.shell(LEFT) == "", f"something of {language} is left")
                events.close()
    finally:
        own.close()


def contexts_outlive_the_server(house, painter):
    """Killed while one is idle and another runs; a third is used by the next server first."""
    other = remote.House.__new__(remote.House)
    other.programs, other.clients, other.sandboxes = house.programs, {}, {}
    other.server = remote.Server(house.programs)
    other.start()
    try:
        sandbox = other.make_sandbox()
        idle, busy = sandbox.context(name="idle"), sandbox.context("javascript", name="busy")
        idle.run("x = 1")
        busy.run("let y = 2")
        events = busy.stream("console.log('begun'); await new Promise((r) => setTimeout(r, 300)); y += 1; undefined")
        expect(events.next()[0] == "stdout")
        other.server.kill("both")
        other.clients.clear()
        other.start()
        expect({each["name"] for each in sandbox.call(200, "GET", "/contexts")["items"]} == {"idle", "busy"})
        expect(idle.value("x += 1; x") == "2")
        expect(busy.value("y") == "3")
        idle.close()
        sandbox.call(404, "GET", f"/contexts/{idle.id}")
    finally:
        other.server.end_sandboxes()
        other.server.remove()


def an_image_without_ipython(house, painter):
    with house.make_sandbox(user="root") as sandbox:
        sandbox.shell("rm -rf /usr/lib/python3/dist-packages/IPython && ! python3 -c 'import IPython' 2>/dev/null")
        context = sandbox.context()
        expect(context.value("import sys\n'IPython' in sys.modules") == "False")
        result = context.run("import pandas\ndisplay(pandas.DataFrame({'a': [1]}))\n" + DRAW + "{'a': [1]}")
        expect([each["formats"].get("json") for each in result["results"] if each["main"]] == [{"a": [1]}], result["results"])
        expect("<table" in result["results"][0]["formats"]["html"], result["results"][0])
        expect_picture(painter, result, "plt.plot([1, 4, 9])")


def lies_on_the_channel_harm_nobody(house, painter):
    """The code finds the channel of its kernel, and writes to it what it likes."""
    context = house.sandbox().context()
    context.run(SAY)
    for lie in (b'{"type": 5}', b'{"type": "stdout", "text": {}}', b'{"type": "result", "formats": [], "main": 1}', b'{"type": "error", "name": null}',
                b'{"type": "result", "formats": ' + b'[' * 100_000 + b']' * 100_000 + b'}', b'{"type": "done", "id": [], "status": "ok"}', b'{"type": "result", "display_id": 5}',
                b'{"type": "result", "display_id": "a", "update": 1}', b'{"type": "clear", "id": 1}', b'\xff\xfe', b'[]'):
        result = context.run(f"say({lie[:40]!r} + {lie[40:41]!r} * {max(0, len(lie) - 40)})" if len(lie) > 1000 else f"say({lie!r})")
        expect(result["status"] == "success" and result["results"] == [] and result["error"] is None, (lie[:60], result))
    expect(context.value("40 + 2") == "42")
    context.close()


def lines_that_are_too_large_are_left_out(house, painter):
    context = house.sandbox().context()
    context.run("x = 5\n" + SAY)
    for line in ("b'x' * (33 << 20)", "b'{\"type\":\"result\",\"formats\":{\"json\":[' + b'[],' * 700_000 + b'[]]}}'",
                 "b'{\"type\":\"result\",\"formats\":{\"json\":{' + b','.join(b'\"%d\":0' % i for i in range(200_000)) + b'}}}'"):
        result = context.run(f"say({line})\nprint('said')")
        expect(result["status"] == "success" and result["stdout"]["text"] == "said\n", result)
        expect("give back 1 of the results" in json.dumps(result["denials"]), result["denials"])
    expect(context.value("x") == "5")
    context.close()


def keys_of_json_keep_their_order(house, painter):
    context = house.sandbox().context()
    result = context.run("{'z': 1, 'a': {'y': 2, 'b': 3}}")
    expect(json.dumps(result["results"][0]["formats"]["json"]) == '{"z": 1, "a": {"y": 2, "b": 3}}', result)
    context.close()


def what_is_printed_between_executions_comes_with_the_next(house, painter):
    context = house.sandbox().context()
    context.run("import threading\n"
                "def later():\n    print('between', flush=True)\n    open('printed', 'w').close()\n"
                "threading.Timer(0.2, later).start()")
    house.sandbox().shell("until [ -e printed ]; do sleep 0.01; done")
    result = context.run("print('next')", limits={"output": 10})
    expect(result["stdout"]["text"] == "between\nnext\n" and result["status"] == "success", result)
    expect(context.run("print('alone')")["stdout"]["text"] == "alone\n")
    # But not what code printed whose caller has gone.
    running = context.stream("import time\nprint('begun', flush=True)\nwhile True:\n    print('noise', flush=True)\n    time.sleep(0.01)")
    expect(running.next()[0] == "stdout")
    running.close()
    expect(context.run("print('quiet')")["stdout"]["text"] == "quiet\n")
    context.close()


def the_end_of_the_interpreter_is_never_a_success(house, painter):
    result = house.sandbox().context().run("import os\nos._exit(0)")
    expect((result["status"], result["exit_code"]) == ("error", 0) and "the context's interpreter with it" in result["why"], result)


def code_that_waits_by_name_outlives_the_interpreter(house, painter):
    with house.make_sandbox() as sandbox:
        for name, end in (("book", "os._exit(3)"), ("default", "os._exit(3)"), ("pad", "time.sleep(60)")):
            if name != "default":
                sandbox.context(name=name)
            running = remote.Events(house, sandbox.path + "/execs", {"context": name, "code": f"import os, time\nprint('up', flush=True)\ntime.sleep(1)\n{end}"})
            expect(running.next()[0] == "stdout")
            answers = []
            order = {"context": name, "code": "6 * 7"}
            waiting = threading.Thread(target=lambda: answers.append(
                house.server.client(remote.PATIENCE).expect(200, "POST", sandbox.path + "/execs?wait=true", order).json()))
            waiting.start()
            if name == "pad":
                time.sleep(0.5)
                sandbox.call(200, "POST", "/contexts/pad/restart")
            waiting.join()
            expect(answers and answers[0]["results"][0]["formats"]["text"] == "42", (name, answers))
            running.close()


def a_start_that_takes_too_long_is_told(house, painter):
    with house.make_sandbox() as sandbox:
        result = sandbox.run(context="default", code="1", limits={"timeout": "20ms"})
        expect(result["status"] == "timeout" and "before its context's interpreter had started" in result["why"], result)
        expect(result["duration_ms"] >= 20, result)
        expect(sandbox.run(context="default", code="1", limits={"timeout": "20s"})["status"] == "success")


def a_version_is_served_by_the_default_that_has_it(house, painter):
    with house.make_sandbox() as sandbox:
        first = sandbox.run(context="default", language="python", code="x = 5\nimport platform\nplatform.python_version()")
        version = first["results"][0]["formats"]["text"].strip("'").rpartition(".")[0]
        second = sandbox.run(context="default", language=f"python@{version}", code="x")
        expect(second["context_id"] == first["context_id"], (first, second))


def an_interpreter_that_is_not_there_is_not_found(house, painter):
    with house.make_sandbox() as sandbox:
        problem = sandbox.call(404, "POST", "/contexts", {"env": {"PATH": "/nowhere"}})
        expect(problem["code"] == "not_found" and "python3" in problem["detail"], problem)


TESTS = [
    several_contexts_of_a_sandbox,
    names_of_contexts,
    the_default_context_is_made_once,
    an_interpreter_that_does_not_start_holds_up_nobody_else,
    output_is_streamed_while_the_code_runs,
    code_is_an_exec_on_record,
    code_that_runs_is_listed_and_can_be_killed,
    code_whose_caller_left_is_on_record,
    an_interrupt_keeps_the_variables,
    a_restart_begins_anew,
    a_time_out_keeps_the_context,
    the_output_of_code_is_limited,
    a_result_has_its_language_and_limits,
    results_without_room_are_told_of,
    stubborn_code_loses_it,
    code_of_a_caller_that_leaves_is_interrupted,
    code_that_waits_for_its_turn_is_given_up,
    code_is_not_charged_for_what_ran_before_its_turn,
    errors_have_name_value_and_traceback,
    the_end_of_the_interpreter_is_told,
    out_of_memory_is_told_and_a_name_comes_back,
    a_pause_keeps_contexts,
    code_that_runs_is_a_use_of_the_sandbox,
    code_resumes_a_sandbox_that_may_be_resumed,
    a_session_has_contexts,
    sessions_in_one_sandbox_have_default_contexts_of_their_own,
    a_deleted_context_takes_all_with_it_without_control_groups,
    contexts_outlive_the_server,
    an_image_without_ipython,
    lies_on_the_channel_harm_nobody,
    lines_that_are_too_large_are_left_out,
    keys_of_json_keep_their_order,
    what_is_printed_between_executions_comes_with_the_next,
    the_end_of_the_interpreter_is_never_a_success,
    code_that_waits_by_name_outlives_the_interpreter,
    a_start_that_takes_too_long_is_told,
    a_version_is_served_by_the_default_that_has_it,
    an_interpreter_that_is_not_there_is_not_found,
]


def tests(house):
    return [(f"server: {runner.name_of(test)}", lambda painter, test=test: test(house, painter)) for test in TESTS]
