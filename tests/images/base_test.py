#!/usr/bin/python3
"""The base image, built twice: base_test.py BUILD [LAYOUT [WORD…]]. LAYOUT is one that is built already and takes the place of the first;
WORDs choose among sandbox, peers and second_build. The last line is the sum."""

import json
import os
import re
import resource
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "crash"), HERE]
from place import Place, equal

BUILD_IMAGE = os.path.join(HERE, "..", "..", "images", "base", "build")
NAME = "cove/base:latest"

# What is run in a sandbox of it, and what must be in its output.
COMMANDS = [
    ("id -un; pwd; sudo id -un", r"^user\n/home/user\nroot\n$"),
    ("python3 --version; python --version; pip --version", r"^Python 3\.\d+\.\d+\nPython 3\.\d+\.\d+\npip \d+"),
    ("python3 -m venv --system-site-packages /tmp/venv && /tmp/venv/bin/python -c 'import numpy; print(\"ok\")'", r"^ok$"),
    ("ipython --version; jupyter server --version", r"^\d+\.\d+\.\d+\n\d+\.\d+\.\d+$"),
    ("node --version; nodejs -p 6*7; npm --version; npx --version; yarn --version; tsc --version",
     r"^v20\.\d+\.\d+\n42\n\d+\.\d+\.\d+\n\d+\.\d+\.\d+\n1\.22\.\d+\nVersion 5\."),
    ("printf 'int main(){return 7;}' > a.c && gcc -o a a.c && ./a; echo $?", r"^7$"),
    ("printf '#include <iostream>\\nint main(){std::cout<<1+1;}' > b.cc && g++ -o b b.cc && ./b && make --version | head -1", r"^2GNU Make"),
    ("git init -q r && cd r && touch f && git add f && git -c user.name=x -c user.email=x commit -qm one && git log --format=%s", r"^one$"),
    ("mkdir d && echo needle > d/file.txt && rg -n needle d && fd file d", r"^d/file.txt:1:needle\nd/file.txt$"),
    ("tmux -V; sqlite3 :memory: 'select 6*7'; echo '{\"a\":1}' | jq .a", r"^tmux \d.*\n42\n1$"),
    ("curl --version | head -1; wget --version | head -1; ssh -V 2>&1; gh --version | head -1", r"^curl .*\nGNU Wget.*\nOpenSSH.*\ngh version"),
    ("nano --version | head -1; vim --version | head -1", r"nano, version.*\nVIM - Vi IMproved"),
    ("Rscript -e 'cat(6*7)'; printf 'class A{public static void main(String[] x){System.out.println(7);}}' > A.java && javac A.java && java A",
     r"^427$"),
    # sudo comes from Cove.
    ("test -e /etc/machine-id && cat /etc/machine-id; ls /var/log; find / -xdev -newermt '1 hour ago' -type f -path '/usr/*' "
     "! -path /usr/bin/sudo 2>/dev/null; true", r"^[^/]*$"),
    ("cat /etc/apt/apt.conf.d/*; cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -c '@'; true", r"(?s)^(?!.*Proxy).*\b0$"),
]

LIBRARIES = """aiohttp bs4 cv2 docx httpx imageio IPython ipykernel joblib lxml matplotlib nltk numba numpy openpyxl pandas PIL
plotly pytest pytz requests scipy seaborn skimage sklearn soundfile sympy tornado urllib3 xarray xlrd yaml""".split()

PLOT = """
import pandas, matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
frame = pandas.DataFrame({"x": [1, 2, 3], "y": [1, 4, 9]})
frame.plot(x="x", y="y")
plt.savefig("plot.png")
print(frame.y.sum(), open("plot.png", "rb").read(4)[1:])
"""


LANGUAGES = {
    "python": b"print(6 * 7)\n",
    "node": b"console.log(6 * 7)\n",
    "ts": b"const x: number = 6\nconsole.log(x * 7)\n",
    "bash": b"echo $((6 * 7))\n",
    "perl": b'print 6 * 7, "\\n"\n',
    "r": b'cat(6 * 7, "\\n", sep = "")\n',
    "java": b"class A { public static void main(String[] a) { System.out.println(6 * 7); } }\n",
    "c": b'#include <stdio.h>\nint main(void) { printf("%d\\n", 6 * 7); return 0; }\n',
    "cpp": b"#include <iostream>\nint main() { std::cout << 6 * 7 << std::endl; }\n",
}

FIGURE = b"import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\n"


def build(place, name):
    """The folder, the digest that was told, and the seconds it took."""
    folder = f"{place.folder}/{name}"
    begun = time.monotonic()
    done = subprocess.run([BUILD_IMAGE, folder], stdout=subprocess.PIPE)
    if done.returncode:
        raise AssertionError(f"{BUILD_IMAGE} ended with {done.returncode}")
    seconds = time.monotonic() - begun
    print(f"built in {seconds:.0f} s, {os.path.getsize(folder + '.tar') >> 20} MiB", flush=True)
    return folder, done.stdout.decode().strip()


def digest_of(folder):
    with open(f"{folder}/index.json") as file:
        return json.load(file)["manifests"][0]["digest"]


def config_digest(folder):
    with open(f"{folder}/blobs/sha256/{digest_of(folder)[7:]}") as file:
        return json.load(file)["config"]["digest"]


def check_sandbox(place, folder):
    equal(place.cove("image", "load", folder + ".tar").stdout.decode(), NAME + "\n")
    equal(json.loads(place.cove("image", "inspect", NAME).stdout)["digest"], digest_of(folder))
    for command, wanted in COMMANDS:
        said = place.run("--image", NAME, "--", "bash", "-c", command)
        if not re.search(wanted, said.strip() + ("\n" if wanted.endswith("\\n$") else "")):
            raise AssertionError(f"{command}\nprints {said!r}, not {wanted}")
    for library in LIBRARIES:
        place.run("--image", NAME, "--", "python3", "-c", f"import {library}")
    equal(place.run("--image", NAME, "--", "python3", "-c", PLOT), "14 b'PNG'\n")
    check_languages(place)
    words = ["--server", "--json", "--image", NAME, "--lang", "python", "-"]
    drawn = place.cove("run", *words, input=FIGURE).stdout
    equal(list(json.loads(drawn)["results"][0]["formats"]), ["png"])
    equal(place.cove("image", "verify", NAME).returncode, 0)


def check_languages(place):
    """Those that the image has, and that the table knows how to start."""
    for language, code in LANGUAGES.items():
        equal((language, place.cove("run", "--image", NAME, "--lang", language, "-", input=code).stdout), (language, b"42\n"))
    done = place.cove("run", "--json", "--image", NAME, "--lang", "ts", "-", input=b'const x: number = "six"\n', ok=False)
    result = json.loads(done.stdout)
    equal((result["phase"], "is not assignable" in result["stdout"]["text"]), ("compile", True))


def own_limits():
    """Podman's own defaults are higher than what even root may have on some machines."""
    for name, limit in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        most = resource.getrlimit(limit)[1]
        if name == "nproc":
            with open("/proc/sys/kernel/pid_max") as file:
                most = min(int(file.read()), most if most >= 0 else 1 << 30)
        yield f"--ulimit={name}={most}:{most}"


def check_peers(place, folder):
    """The tools of others take it for the same image."""
    about = json.loads(subprocess.run(["skopeo", "inspect", f"oci:{folder}:{NAME}"], stdout=subprocess.PIPE, check=True).stdout)
    equal(about["Digest"], digest_of(folder))
    podman = ["podman", "--root", f"{place.folder}/podman", "--runroot", f"{place.folder}/podman-run", "--cgroup-manager", "cgroupfs",
              "--runtime", "runc", "--storage-driver", "overlay"]
    try:
        subprocess.run([*podman, "load", "-q", "-i", folder + ".tar"], stdout=subprocess.DEVNULL, check=True)
        listed = subprocess.run([*podman, "images", "--no-trunc", "--format", "{{.Id}} {{.Repository}}:{{.Tag}}"], stdout=subprocess.PIPE,
                                check=True).stdout.decode()
        # Some versions write the kind of the digest before it, others do not.
        equal("sha256:" + listed.removeprefix("sha256:"), f"{config_digest(folder)} localhost/{NAME}\n")
        said = subprocess.run([*podman, "run", "--rm", "--network", "none", *own_limits(), NAME, "bash", "-c", "id -un; pwd; sudo id -un; node -p 1+1"],
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        equal(said, "user\n/home/user\nroot\n2\n")
    finally:
        subprocess.run([*podman, "system", "reset", "--force"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_second_build(place, folder):
    again, digest = build(place, "again")
    equal(digest, digest_of(folder))
    subprocess.run(["cmp", folder + ".tar", again + ".tar"], check=True)


def main():
    place = Place(sys.argv[1])
    passed = failed = 0
    folder = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        if not folder:
            folder, digest = build(place, "first")
            equal(digest, digest_of(folder))
        for check in (check_sandbox, check_peers, check_second_build):
            if len(sys.argv) > 3 and not any(word in check.__name__ for word in sys.argv[3:]):
                continue
            try:
                check(place, folder)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAILED {check.__name__}\n{traceback.format_exc()}", flush=True)
    finally:
        place.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
