"""The matplotlib backend for plain scripts. Each test gets a folder for the results."""

import base64
import os
import subprocess
import sys
import tempfile

import kernel
import painter as painting
import runner

HEAD = "import matplotlib.pyplot as plt\n"


def run(script, results):
    environment = {
        "PATH": os.environ["PATH"],
        "MPLBACKEND": "module://results_backend",
        "MPLCONFIGDIR": kernel.font_cache(),
        "PYTHONPATH": kernel.SOURCES,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if results:
        environment["COVE_RESULTS"] = results
    return subprocess.run([sys.executable, "-c", HEAD + script], env=environment, capture_output=True, text=True, timeout=300)


def succeed(script, results):
    outcome = run(script, results)
    expect(outcome.returncode == 0 and outcome.stderr == "", outcome.stderr)
    return outcome.stdout


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_pictures(painter, results, codes):
    names = sorted(os.listdir(results))
    expect(names == [f"figure-{number:02}.png" for number in range(1, len(codes) + 1)], names)
    for name, code in zip(names, codes):
        with open(os.path.join(results, name), "rb") as file:
            data = base64.b64encode(file.read())
        different = painting.differences(painter, code, data)
        expect(not different, f"{name}: {different}")


def show_writes_and_closes(results, painter):
    output = succeed("plt.plot([1, 4, 9])\nplt.show()\nprint(plt.get_fignums())\nplt.bar([1, 2], [3, 4])\nplt.show(block=True)", results)
    expect(output == "[]\n", output)
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])", "plt.bar([1, 2], [3, 4])"])


def open_figures_are_written_at_the_end(results, painter):
    succeed("for color in 'rg':\n    plt.figure()\n    plt.plot([1, 2], color=color)", results)
    expect_pictures(painter, results, ["plt.plot([1, 2], color='r')", "plt.plot([1, 2], color='g')"])


def also_after_an_error(results, painter):
    expect(run("plt.plot([1, 4, 9])\n1 / 0", results).returncode == 1, "no error")
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])"])


def closed_figures_are_not_written(results, painter):
    succeed("plt.plot([1, 4, 9])\nplt.close()", results)
    expect_pictures(painter, results, [])


def a_figure_is_shown_by_itself(results, painter):
    succeed("figure, axes = plt.subplots()\naxes.plot([1, 4, 9])\nfigure.show()", results)
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])"])


def savefig_works_as_ever(results, painter):
    succeed(f"plt.plot([1, 4, 9])\nplt.savefig('{results}/figure-01.png', bbox_inches='tight')\nplt.close()", results)
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])"])


def there_are_at_most_32(results, painter):
    succeed("for i in range(40):\n    plt.figure(figsize=(1, 1))\n    plt.plot([1, 2])\n    plt.show()", results)
    expect(len(os.listdir(results)) == 32, os.listdir(results))


def a_large_one_is_made_smaller(results, painter):
    succeed("import numpy\nplt.figure(figsize=(20, 20), dpi=150)\nplt.imshow(numpy.random.rand(3000, 3000, 3))", results)
    size = os.path.getsize(os.path.join(results, "figure-01.png"))
    expect(1 << 20 < size <= 8 << 20, size)


def what_cannot_be_drawn_is_left_out(results, painter):
    succeed("plt.title('$\\\\nonsense$')\nplt.show()\nplt.plot([1, 4, 9])", results)
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])"])


def processes_share_the_numbers(results, painter):
    succeed("import multiprocessing\ndef work():\n    plt.plot([1, 4, 9])\n    plt.show()\nfor i in range(2):\n    p = multiprocessing.Process(target=work)\n    p.start()\n    p.join()", results)
    expect_pictures(painter, results, ["plt.plot([1, 4, 9])"] * 2)


def nothing_happens_without_the_folder(results, painter):
    script = "plt.plot([1, 4, 9])\nplt.show()\nplt.plot([1])\nprint('done')"
    expect(succeed(script, None) == "done\n", "no end")
    expect(succeed(script, os.path.join(results, "missing")) == "done\n", "no end")
    expect(os.listdir(results) == [], os.listdir(results))


TESTS = [
    show_writes_and_closes,
    open_figures_are_written_at_the_end,
    also_after_an_error,
    closed_figures_are_not_written,
    a_figure_is_shown_by_itself,
    savefig_works_as_ever,
    there_are_at_most_32,
    a_large_one_is_made_smaller,
    what_cannot_be_drawn_is_left_out,
    processes_share_the_numbers,
    nothing_happens_without_the_folder,
]


def in_folder(test):
    def run_there(painter):
        with tempfile.TemporaryDirectory(prefix="cove-results-") as folder:
            return test(folder, painter)

    return run_there


def tests():
    return [(f"figures of scripts: {runner.name_of(test)}", in_folder(test)) for test in TESTS]
