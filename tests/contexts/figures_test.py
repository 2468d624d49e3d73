"""Figures of plain scripts, over the API and with `cove run`. Each test gets the house and a painter."""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile

import painter as painting
import runner

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "languages"))
import roots  # noqa: E402

HEAD = "import matplotlib.pyplot as plt\n"
LINE = "plt.plot([1, 4, 9])"
FOLDER = "import os\nfolder = f'/tmp/.cove-figures-{os.getsid(0)}'\nos.mkdir(folder)\n"
PNG = "b'\\x89PNG\\r\\n\\x1a\\n'"


def expect(condition, what=""):
    if not condition:
        raise AssertionError(what)


def run(house, script, **order):
    """In the sandbox of this process, where matplotlib has found its fonts."""
    return house.sandbox().run(language="python", code=script, **order)


def succeed(house, script, **order):
    result = run(house, script, **order)
    expect(result["status"] == "success" and result["stderr"]["text"] == "", result["stderr"])
    return result


def figures_of(result):
    expect(all(each["main"] is False and list(each["formats"]) == ["png"] for each in result["results"]), result["results"])
    return [each["formats"]["png"] for each in result["results"]]


def expect_pictures(painter, result, codes):
    figures = figures_of(result)
    expect(len(figures) == len(codes), f"{len(figures)} figures, not {len(codes)}: {result['stderr']}")
    for number, (figure, code) in enumerate(zip(figures, codes), 1):
        different = painting.differences(painter, code, figure)
        expect(not different, f"figure {number}: {different}")


# --- what the backend does ---


def show_gives_and_closes(house, painter):
    result = succeed(house, HEAD + LINE + "\nplt.show()\nprint(plt.get_fignums())\nplt.bar([1, 2], [3, 4])\nplt.show(block=True)")
    expect(result["stdout"]["text"] == "[]\n", result["stdout"])
    expect_pictures(painter, result, [LINE, "plt.bar([1, 2], [3, 4])"])


def open_figures_are_given_at_the_end(house, painter):
    result = succeed(house, HEAD + "for color in 'rg':\n    plt.figure()\n    plt.plot([1, 2], color=color)")
    expect_pictures(painter, result, ["plt.plot([1, 2], color='r')", "plt.plot([1, 2], color='g')"])
    expect(house.sandbox().shell("ls -A /tmp | grep figures || true") == "", "the folder is left")


def also_after_an_error(house, painter):
    result = run(house, HEAD + LINE + "\n1 / 0")
    expect(result["exit_code"] == 1 and "ZeroDivisionError" in result["stderr"]["text"], result)
    expect_pictures(painter, result, [LINE])


def closed_figures_are_not_given(house, painter):
    expect_pictures(painter, succeed(house, HEAD + LINE + "\nplt.savefig('out.png')\nplt.close()"), [])


def a_figure_is_shown_by_itself(house, painter):
    expect_pictures(painter, succeed(house, HEAD + "figure, axes = plt.subplots()\naxes.plot([1, 4, 9])\nfigure.show()"), [LINE])


def there_are_at_most_32(house, painter):
    result = run(house, HEAD + "for i in range(40):\n    plt.figure(figsize=(1, 1))\n    plt.plot([1, 2])\n    plt.show()")
    expect(len(figures_of(result)) == 32, len(result["results"]))
    expect(result["stderr"]["text"] == "more than 32 figures: the others are not given\n", result["stderr"])
    expect([denial["what"] for denial in result["denials"]] == ["8 figures were left out"], result["denials"])


def a_large_one_is_made_smaller(house, painter):
    result = succeed(house, HEAD + "import numpy\nplt.figure(figsize=(18, 18), dpi=150)\nplt.imshow(numpy.random.rand(2700, 2700, 3), interpolation='none')")
    size = len(base64.b64decode(figures_of(result)[0]))
    expect(1 << 20 < size <= 8 << 20, size)


def what_cannot_be_drawn_is_left_out(house, painter):
    result = run(house, HEAD + "plt.title('$\\\\nonsense$')\nplt.show()\n" + LINE)
    expect(result["exit_code"] == 0 and result["stderr"]["text"].startswith("figure 1 cannot be given: ValueError: "), result)
    expect_pictures(painter, result, [LINE])
    expect([denial["what"] for denial in result["denials"]] == ["1 figure was left out"], result["denials"])


CHOICES = {
    "before pyplot": "import matplotlib\nmatplotlib.use('Agg')\n" + HEAD,
    "after pyplot": HEAD + "import matplotlib\nmatplotlib.use('svg')\n",
    "by switching": HEAD + "plt.switch_backend('agg')\n",
    "as a setting": "import matplotlib\nmatplotlib.rcParams['backend'] = 'pdf'\n" + HEAD,
    "by the variable": "import os\nos.environ['MPLBACKEND'] = 'agg'\n" + HEAD,
    "loaded anew": HEAD + "import importlib\nplt = importlib.reload(plt)\nplt.switch_backend('agg')\n",
    "twice": "import matplotlib\nmatplotlib.use('module://cove_figures')\n" + HEAD + "plt.switch_backend('agg')\n",
}


def a_backend_of_the_scripts_choice_gives_them_too(house, painter):
    ends = ("\nplt.show()", "\nplt.gcf().show()\nplt.close()", "\nplt.savefig('out.png')")
    for name, end in [*((name, "") for name in CHOICES), *((name, end) for name in ("before pyplot", "after pyplot") for end in ends)]:
        try:
            expect_pictures(painter, succeed(house, CHOICES[name] + LINE + end), [LINE])
        except AssertionError as error:
            raise AssertionError(f"{name}, {end!r}: {error}") from error


def of_such_a_backend_closed_ones_are_not_given(house, painter):
    own = "\nprint(open('out.png', 'rb').read(4), plt.get_backend())"
    for name, backend in (("before pyplot", "agg"), ("after pyplot", "svg")):
        result = succeed(house, CHOICES[name] + LINE + "\nplt.savefig('out.png')\nplt.close()" + own)
        expect(result["stdout"]["text"] == f"b'\\x89PNG' {backend}\n", result["stdout"])
        expect_pictures(painter, result, [])


def of_such_a_backend_they_stay_open_and_are_given_when_they_change(house, painter):
    head = CHOICES["before pyplot"] + LINE + "\nplt.show()\nplt.show()\nprint(plt.get_fignums())\n"
    result = succeed(house, head + "plt.savefig('out.png')\nprint(plt.gca().lines)")
    expect(result["stdout"]["text"] == "[1]\n<Axes.ArtistList of 1 lines>\n", result["stdout"])
    expect_pictures(painter, result, [LINE])
    expect_pictures(painter, succeed(house, head + "plt.title('more')"), [LINE, LINE + "\nplt.title('more')"])


def an_interpreter_that_waited_gives_them_too(house, painter):
    """In a server of its own: what is kept ready is what was asked for last."""
    import remote

    own = remote.House(house.build)
    found = lambda: int(re.search(r"^cove_pool_interpreters_total (\d+)$", own.client().expect(200, "GET", "/metrics").data.decode(), re.M)[1])
    execute = lambda code: own.call(200, "POST", "/v1/execute", {"language": "python", "code": code})
    try:
        own.start()
        while found() == 0:
            execute("print(1)")
        before = found()
        for _ in range(4):
            expect_pictures(painter, execute(CHOICES["before pyplot"] + LINE), [LINE])
        expect(found() > before, "none had waited")
    finally:
        own.close()


def processes_share_the_numbers(house, painter):
    script = "import multiprocessing\ndef work():\n    plt.plot([1, 4, 9])\n    plt.show()\nfor i in range(2):\n    p = multiprocessing.Process(target=work)\n    p.start()\n    p.join()"
    expect_pictures(painter, succeed(house, HEAD + script), [LINE] * 2)


# --- where they come from ---


def one_call_gives_them(house, painter):
    result = house.call(200, "POST", "/v1/execute", {"language": "python", "code": HEAD + LINE})
    expect_pictures(painter, result, [LINE])


def a_stream_ends_with_them(house, painter):
    import remote

    events = remote.Events(house, house.sandbox().path + "/execs", {"language": "python", "code": HEAD + LINE})
    last = None
    while event := events.next():
        last = event
    expect(last[0] == "exit", last)
    expect_pictures(painter, last[1]["result"], [LINE])


def they_are_kept_with_the_exec(house, painter):
    result = succeed(house, HEAD + LINE)
    exec = house.sandbox().call(200, "GET", f"/execs/{result['exec_id']}")
    expect(exec["result"]["results"] == result["results"], exec)


def execs_at_the_same_time_keep_theirs_apart(house, painter):
    import remote

    colors = "rgb"
    path = house.sandbox().path + "/execs"
    streams = [remote.Events(house, path, {"language": "python", "code": HEAD + f"plt.plot([1, 2], color='{color}')"}) for color in colors]
    for color, stream in zip(colors, streams):
        while (event := stream.next())[0] != "exit":
            pass
        expect_pictures(painter, event[1]["result"], [f"plt.plot([1, 2], color='{color}')"])


def a_backend_of_the_callers_own_is_kept(house, painter):
    script = "import os\nprint(os.environ.get('MPLBACKEND'))\n"
    result = run(house, script + HEAD + LINE, env={"MPLBACKEND": "agg"})
    expect(result["stdout"]["text"] == "agg\n" and result["results"] == [], result)
    with house.make_sandbox(env={"MPLBACKEND": "svg"}) as sandbox:
        expect(sandbox.run(language="python", code=script)["stdout"]["text"] == "svg\n")


def a_path_of_the_callers_own_is_kept(house, painter):
    """Also what Python runs first from there."""
    script = "import os, sys\nprint(os.environ['PYTHONPATH'], sys.modules['sitecustomize'].__file__, sys.own)"
    house.sandbox().shell("mkdir -p own && echo 'import sys; sys.own = 1' > own/sitecustomize.py")
    result = succeed(house, script, env={"PYTHONPATH": "/home/user/own"})
    expect(result["stdout"]["text"] == "/.cove/python:/home/user/own /home/user/own/sitecustomize.py 1\n", result["stdout"])


def every_image_gives_them(house, painter):
    """One whose Python is where no system has it, by the server and without one; also where the script chooses a backend."""
    root = roots.plotting_root(os.path.join(os.path.abspath(house.build), "language-images"))
    with tempfile.TemporaryDirectory(prefix="cove-figures-") as folder:
        with open(folder + "/plot.py", "w") as file:
            file.write(HEAD + LINE)
        imported = cove_itself(house, ["image", "import", root, "test/plotting:1"], folder)
        expect(imported.returncode == 0, imported.stderr)
        for script in (HEAD + LINE, CHOICES["before pyplot"] + LINE):
            result = house.call(200, "POST", "/v1/execute", {"image": "test/plotting:1", "language": "python", "code": script})
            expect(len(figures_of(result)) == 1, result)
        for way in (["--direct"], ["--server"]):
            result = json.loads(cove(house, ["--json", "--image", "test/plotting:1", "--lang", "python", "plot.py"], folder, way).stdout)
            expect(len(figures_of(result)) == 1, (way, result))


def nothing_else_is_changed(house, painter):
    """Neither for other programs nor for scripts that do not draw."""
    sandbox = house.sandbox()
    expect("MPLBACKEND" not in sandbox.shell("env"))
    expect("MPLBACKEND" not in sandbox.run(language="javascript", code="console.log(JSON.stringify(process.env))")["stdout"]["text"])
    names = "import os, sys\nprint([name for name in sys.modules if 'figures' in name or 'matplotlib' in name], [p for p in sys.path if 'cove' in p], os.environ.get('MPLBACKEND'))"
    expect(succeed(house, names)["stdout"]["text"] == "[] ['/.cove/python'] module://cove_figures\n")
    expect(succeed(house, "print(1)")["results"] == [])


# --- what a hostile script leaves there ---


def only_plain_files_are_taken(house, painter):
    script = FOLDER + (
        "os.symlink('/etc/passwd', folder + '/figure-01.png')\n"
        "os.mkfifo(folder + '/figure-02.png')\n"
        "os.mkdir(folder + '/figure-03.png')\n"
        "os.symlink('/dev/zero', folder + '/figure-04.png')\n"
        "open(folder + '/figure-05.png', 'wb').write(b'no picture')\n"
        "open(folder + '/figure-06.png', 'wb').write(b'')\n"
        f"open(folder + '/figure-07.png', 'wb').write({PNG} + b'7')\n"
        "open(folder + '/figure-8.png', 'wb').write(b'another name')\n"
    )
    expect([base64.b64decode(each)[8:] for each in figures_of(succeed(house, script))] == [b"7"])


def a_folder_that_is_a_link_is_not_followed(house, painter):
    script = f"import os\nos.mkdir('real')\nopen('real/figure-01.png', 'wb').write({PNG})\nos.symlink(os.getcwd() + '/real', f'/tmp/.cove-figures-{{os.getsid(0)}}')"
    expect(succeed(house, script)["results"] == [])
    expect("figure-01.png" in house.sandbox().shell("ls real"), "it was removed through the link")


def their_sizes_are_bounded(house, painter):
    script = FOLDER + f"for i, size in enumerate((9 << 20, 7 << 20, 7 << 20, 7 << 20, 1)):\n    open(f'{{folder}}/figure-{{i + 1:02}}.png', 'wb').write({PNG} + b'x' * size)"
    result = succeed(house, script)
    sizes = [len(base64.b64decode(each)) - 8 for each in figures_of(result)]
    expect(sizes == [7 << 20, 7 << 20, 1], sizes)
    expect([denial["what"] for denial in result["denials"]] == ["2 figures were left out"], result["denials"])
    script = FOLDER + f"with open(folder + '/figure-01.png', 'wb') as file:\n    file.write({PNG})\n    file.truncate(1 << 40)"
    expect(succeed(house, script)["results"] == [])


# --- cove run ---


def cove(house, words, folder, way):
    return cove_itself(house, ["run", *way, *words], folder)


def cove_itself(house, words, folder):
    words = [house.cove, *words]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": folder, "COVE_STATE": house.server.state, "COVE_HOST": f"unix:{house.server.socket}"}
    return subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, timeout=120)


def run_in_both_ways(test):
    def both(house, painter):
        for way in (["--direct"], ["--server"]):
            with tempfile.TemporaryDirectory(prefix="cove-figures-") as folder:
                with open(folder + "/plot.py", "w") as file:
                    file.write(HEAD + LINE + "\nprint('drawn')\n")
                try:
                    test(house, painter, folder, way)
                except AssertionError as error:
                    raise AssertionError(f"{way[0]}: {error}") from error

    both.__name__ = test.__name__
    return both


@run_in_both_ways
def cove_run_gives_them_as_json(house, painter, folder, way):
    outcome = cove(house, ["--json", "--lang", "python", "plot.py"], folder, way)
    expect(outcome.returncode == 0, outcome.stderr)
    result = json.loads(outcome.stdout)
    expect(result["stdout"]["text"] == "drawn\n", result["stdout"])
    expect_pictures(painter, result, [LINE])


@run_in_both_ways
def cove_run_writes_them(house, painter, folder, way):
    outcome = cove(house, ["--results", "out/plots", "--lang", "python", "plot.py"], folder, way)
    expect(outcome.returncode == 0 and outcome.stdout == "drawn\n", outcome)
    expect(os.listdir(folder + "/out/plots") == ["figure-01.png"], os.listdir(folder + "/out/plots"))
    with open(folder + "/out/plots/figure-01.png", "rb") as file:
        different = painting.differences(painter, LINE, base64.b64encode(file.read()))
    expect(not different, different)


@run_in_both_ways
def cove_run_changes_nothing_unasked(house, painter, folder, way):
    with open(folder + "/env.py", "w") as file:
        file.write("import os\nprint(os.environ.get('MPLBACKEND'))\n")
    expect(cove(house, ["--lang", "python", "env.py"], folder, way).stdout == "None\n")
    kept = cove(house, ["--json", "--env", "MPLBACKEND=svg", "--lang", "python", "env.py"], folder, way)
    expect(json.loads(kept.stdout)["stdout"]["text"] == "svg\n", kept.stdout)
    wrong = cove(house, ["--results", "out", "--", "true"], folder, way)
    expect(wrong.returncode == 125 and "--lang python" in wrong.stderr, wrong)


TESTS = [
    show_gives_and_closes,
    open_figures_are_given_at_the_end,
    also_after_an_error,
    closed_figures_are_not_given,
    a_figure_is_shown_by_itself,
    there_are_at_most_32,
    a_large_one_is_made_smaller,
    what_cannot_be_drawn_is_left_out,
    a_backend_of_the_scripts_choice_gives_them_too,
    of_such_a_backend_closed_ones_are_not_given,
    of_such_a_backend_they_stay_open_and_are_given_when_they_change,
    an_interpreter_that_waited_gives_them_too,
    processes_share_the_numbers,
    one_call_gives_them,
    a_stream_ends_with_them,
    they_are_kept_with_the_exec,
    execs_at_the_same_time_keep_theirs_apart,
    a_backend_of_the_callers_own_is_kept,
    a_path_of_the_callers_own_is_kept,
    every_image_gives_them,
    nothing_else_is_changed,
    only_plain_files_are_taken,
    a_folder_that_is_a_link_is_not_followed,
    their_sizes_are_bounded,
    cove_run_gives_them_as_json,
    cove_run_writes_them,
    cove_run_changes_nothing_unasked,
]


def tests(house):
    return [(f"figures of scripts: {runner.name_of(test)}", lambda painter, test=test: test(house, painter)) for test in TESTS]
