#!/usr/bin/python3
"""Images against a real registry and real tools: images_test.py BUILD [NAME…]. The last line is the sum."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "crash"), os.path.dirname(__file__)]
import layouts
import server as servers
import trees
from layouts import Layer
from place import equal, main, part


def compare_with_umoci(place, name, archives, how):
    place.publish(name, archives, how=how)
    image = place.pull(name)
    # Debian's umoci cannot read zstd: it gets the same layers another way.
    layout = place.layout()
    layout.add("x", archives)
    theirs = trees.describe(trees.umoci_unpack(layout.folder, "x", f"{layout.folder}-bundle"))
    with trees.Mounted(place.server.state, image["digest"]) as root:
        lines = trees.differences(trees.describe(root), theirs)
    if lines:
        raise AssertionError("\n".join(lines[:40]))
    return image


# --- the tests -------------------------------------------------------------------------------------------------------

def test_tree_equals_umoci_with_removals_and_links(place):
    compare_with_umoci(place, "rich:1", layouts.rich_layers(), ("gzip", "none", "gzip"))


def test_tree_equals_umoci_with_zstd(place):
    compare_with_umoci(place, "zstd:1", layouts.rich_layers(), ("zstd",))


def test_tree_equals_umoci_for_one_layer(place):
    compare_with_umoci(place, "single:1", layouts.rich_layers()[:1], ("none",))


def test_tree_equals_umoci_for_programs_of_this_machine(place):
    folder = f"{place.folder}/part"
    os.makedirs(folder)
    subprocess.run(["cp", "-a", "/usr/share/doc", "/usr/share/perl5", "/usr/bin/bash", folder], check=True)
    archive = subprocess.run(["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE, check=True).stdout
    more = Layer().folder("perl5").whiteout("perl5/Debconf").file("new", b"x").archive()
    compare_with_umoci(place, "real:1", [archive, more], ("gzip",))


def check_config(place, name, *words):
    """What an image that tells how it was started says, with these words to `cove run`."""
    words = [*words, "--image", name]
    told = "cwd=/work [/bin/tell] [from]"
    equal(place.run(*words), f"uid=33 gid=34 {told} [cmd] GREETING=hello\n")
    equal(place.run(*words, "--", "a", "b"), f"uid=33 gid=34 {told} [a] [b] GREETING=hello\n")
    equal(place.run(*words, "--entrypoint", "", "-u", "root", "-w", "/", "-e", "GREETING=x", "--", "tell", "z"),
          "uid=0 gid=0 cwd=/ [tell] [z] GREETING=x\n")
    equal(place.run(*words, "--entrypoint", "tell", "-u", "user"), "uid=1000 gid=1000 cwd=/work [tell] GREETING=hello\n")
    direct = place.cove("run", "--direct", *words).stdout.decode()
    equal(direct, f"uid=33 gid=34 {told} [cmd] GREETING=hello\n")


def test_config_is_honoured_by_every_runtime(place):
    program = layouts.static_program(place.folder)
    base = Layer().folder("bin").file("bin/tell", program, mode=0o755).folder("work", uid=33).folder("etc")
    base.file("etc/passwd", b"root:x:0:0::/root:/bin/sh\nweb:x:33:34::/work:/bin/sh\n")
    config = {"Entrypoint": ["/bin/tell", "from"], "Cmd": ["cmd"], "Env": ["GREETING=hello", "PATH=/bin"], "WorkingDir": "/work", "User": "web"}
    place.publish("config:1", [base.archive()], config)
    place.pull("config:1")
    name = f"{place.registry.address}/config:1"
    check_config(place, name)
    # Engines have images of their own.
    machine = place.client.expect(200, "GET", "/v1/machine").json()
    for runtime in machine["runtimes"]:
        if runtime["available"] and runtime["name"] not in ("docker", "podman"):
            check_config(place, name, "--runtime", runtime["name"])


def test_a_working_folder_that_the_image_lacks_is_made(place):
    program = layouts.static_program(place.folder)
    base = Layer().folder("bin").file("bin/tell", program, mode=0o755)
    place.publish("elsewhere:1", [base.archive()], {"Cmd": ["/bin/tell"], "WorkingDir": "/data/work"})
    place.pull("elsewhere:1")
    name = f"{place.registry.address}/elsewhere:1"
    told = "uid=0 gid=0 cwd=/data/work [/bin/tell] GREETING=-\n"
    equal(place.run("--image", name), told)
    equal(place.cove("run", "--direct", "--image", name).stdout.decode(), told)
    machine = place.client.expect(200, "GET", "/v1/machine").json()
    for runtime in machine["runtimes"]:
        if runtime["available"] and runtime["name"] not in ("docker", "podman"):
            equal(place.run("--image", name, "--runtime", runtime["name"]), told)


def test_set_id_files_are_kept_and_have_no_power(place):
    program = layouts.static_program(place.folder)
    layer = Layer().folder("bin").file("bin/tell", program, mode=0o6755).file("secret", b"secret", mode=0o600)
    place.publish("set-id:1", [layer.archive()])
    image = place.pull("set-id:1")
    with trees.Mounted(place.server.state, image["digest"]) as root:
        equal(oct(os.stat(f"{root}/bin/tell").st_mode), oct(0o106755))
    words = ["--image", image["digest"], "--", "/bin/tell", "c", "/secret"]
    equal(place.run("-u", "root", *words).split("\n")[1], "secret")
    equal(place.run("-u", "user", *words).split("\n")[1], "/secret: missing")


def test_every_image_has_what_figures_are_written_with(place):
    layer = Layer().folder("usr").folder(".cove", mode=0o700, uid=7).file(".cove/own", b"x")
    place.publish("pythons:1", [layer.archive()])
    box = place.client.expect(201, "POST", "/v1/sandboxes", {"image": place.pull("pythons:1")["digest"], "user": "0"}).json()
    found = place.client.expect(200, "GET", f"/v1/sandboxes/{box['id']}/entries?path=/.cove&depth=5").json()["items"]
    equal(sorted(entry["path"] for entry in found),
          ["/.cove/git", "/.cove/own", "/.cove/python", "/.cove/python/cove_figures.py", "/.cove/python/sitecustomize.py"])
    place.client.expect(204, "DELETE", f"/v1/sandboxes/{box['id']}")


def test_writes_stay_in_the_sandbox(place):
    program = layouts.static_program(place.folder)
    place.publish("writes:1", [Layer().folder("bin").file("bin/tell", program, mode=0o755).folder("data").file("data/f", b"image").archive()])
    image = place.pull("writes:1")
    name = f"{place.registry.address}/writes:1"
    box = place.client.expect(201, "POST", "/v1/sandboxes", {"image": name, "user": "root"}).json()
    place.client.expect((200, 201), "PUT", f"/v1/sandboxes/{box['id']}/files?path=/data/f", b"changed")
    equal(place.client.expect(200, "GET", f"/v1/sandboxes/{box['id']}/files?path=/data/f").data, b"changed")
    equal(place.run("--image", name, "--", "/bin/tell", "c", "/data/f").split("\n")[1], "image")
    equal(place.client.expect(200, "POST", f"/v1/images/{part(name)}/verify", {}).json(), {"ok": True, "problems": []})
    place.client.expect(409, "DELETE", f"/v1/images/{part(name)}")
    place.server.kill("both")
    place.server.start()
    place.client.close()
    place.client.expect(409, "DELETE", f"/v1/images/{part(name)}")
    place.client.expect(200, "DELETE", f"/v1/images/{part(name)}?force=true")
    place.client.expect(404, "GET", f"/v1/images/{part(name)}")
    for verb in ("stop", "start"):
        place.client.expect(200, "POST", f"/v1/sandboxes/{box['id']}/{verb}", {})
    equal(place.client.expect(200, "GET", f"/v1/sandboxes/{box['id']}/files?path=/data/f").data, b"changed")
    place.client.expect(200, "POST", "/v1/images/prune", {})
    place.client.expect(200, "GET", f"/v1/images/{image['digest']}")
    place.client.expect(204, "DELETE", f"/v1/sandboxes/{box['id']}")
    removed = place.client.expect(200, "POST", "/v1/images/prune", {}).json()
    equal(image["digest"] in removed["digests"], True)
    equal([key for key in os.listdir(place.server.state + "/images/roots") if key == image["digest"][7:]], [])


def test_layers_are_shared_and_go_with_the_last_image(place):
    shared = Layer().folder("bin").file("bin/a", b"shared" * 10).archive()
    place.publish("share:a", [shared, Layer().folder("a").archive()])
    place.publish("share:b", [shared, Layer().folder("b").archive()])
    first, second = place.pull("share:a"), place.pull("share:b")
    equal(first["layers"][0]["digest"], second["layers"][0]["digest"])
    key = first["layers"][0]["digest"][7:]
    place.client.expect(200, "DELETE", f"/v1/images/{first['digest']}")
    equal(os.path.isdir(f"{place.server.state}/images/layers/{key}"), True)
    place.client.expect(200, "DELETE", f"/v1/images/{second['digest']}")
    equal(os.path.isdir(f"{place.server.state}/images/layers/{key}"), False)


def test_pulls_of_one_image_share_the_work(place):
    big = Layer().file("big", os.urandom(8 << 20)).archive()
    place.publish("twice:1", [big, Layer().folder("b").archive()])
    answers = []

    def pull():
        client = place.server.client(120)
        answers.append(client.expect(200, "POST", "/v1/images?wait=true", {"reference": f"{place.registry.address}/twice:1"}).json()["digest"])
        client.close()

    threads = [threading.Thread(target=pull) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    equal(len(answers), 4)
    equal(len(set(answers)), 1)


def test_manifest_lists_go_by_platform(place):
    layout = place.layout()
    entries = []
    for architecture in ("arm64", "amd64", "s390x"):
        archive = Layer().file(f"for-{architecture}", b"x").archive()
        config = {**layouts.config_of([archive]), "architecture": architecture}
        manifest = layout.manifest(layout.blob(config, layouts.CONFIG_TYPE), [layout.blob(archive, layouts.LAYER_TYPE)])
        entries.append({**manifest, "platform": {"os": "linux", "architecture": architecture}})
    layout.name(layout.blob({"schemaVersion": 2, "mediaType": layouts.INDEX_TYPE, "manifests": entries}, layouts.INDEX_TYPE), "x")
    place.registry.push(layout.folder, "x", "many:1", "--all")
    equal(place.pull("many:1")["platform"], f"linux/{layouts.ARCHITECTURE}")
    equal(place.pull("many:1", platform="linux/s390x")["platform"], "linux/s390x")
    problem = place.pull("many:1", status=404, platform="linux/riscv64")
    equal("linux/s390x" in problem["hint"], True)


def test_archives_are_loaded(place):
    program = layouts.static_program(place.folder)
    layout = place.layout()
    layout.add("loaded:1", [Layer().folder("bin").file("bin/tell", program, mode=0o755).archive()], {"Cmd": ["/bin/tell"]})
    equal(place.cove("image", "load", layout.folder).stdout.decode(), "loaded:1\n")
    equal(place.run("--image", "loaded:1"), "uid=0 gid=0 cwd=/root [/bin/tell] GREETING=-\n")
    archive = f"{place.folder}/docker.tar"
    subprocess.run(["skopeo", "copy", "-q", f"oci:{layout.folder}:loaded:1", f"docker-archive:{archive}:example.org/saved:2"], check=True)
    equal(place.cove("image", "load", archive).stdout.decode(), "example.org/saved:2\n")
    equal(place.run("--image", "example.org/saved:2", "--", "/bin/tell"), "uid=0 gid=0 cwd=/root [/bin/tell] GREETING=-\n")
    equal(place.cove("image", "load", "-", ok=False, input=b"nonsense").returncode, 125)


def test_root_file_systems_are_imported(place):
    program = layouts.static_program(place.folder)
    folder = f"{place.folder}/root"
    os.makedirs(f"{folder}/bin")
    with open(f"{folder}/bin/tell", "wb") as file:
        file.write(program)
    os.chmod(f"{folder}/bin/tell", 0o755)
    equal(place.cove("image", "import", folder, "imported").stdout.decode(), "imported:latest\n")
    equal(place.run("--image", "imported", "--", "tell", "x"), "uid=0 gid=0 cwd=/root [tell] [x] GREETING=-\n")
    archive = subprocess.run(["tar", "-C", folder, "-cz", "."], stdout=subprocess.PIPE, check=True).stdout
    equal(place.cove("image", "import", "-", "imported:tar", input=archive).stdout.decode(), "imported:tar\n")
    place.cove("image", "tag", "imported:tar", "other/name:3")
    equal(place.run("--image", "other/name:3", "--", "tell"), "uid=0 gid=0 cwd=/root [tell] GREETING=-\n")
    names = [image["name"] for image in json.loads(place.cove("images", "--json").stdout)]
    equal("host" in names and "imported:latest" in names, True)
    equal(place.cove("image", "verify", "--all").returncode, 0)
    place.cove("image", "rm", "imported:tar")
    place.cove("image", "rm", "other/name:3")
    equal(place.cove("image", "inspect", "imported:tar", ok=False).returncode, 125)


def test_damage_is_seen(place):
    place.publish("damage:1", [Layer().folder("a").file("a/f", b"content").archive()])
    image = place.pull("damage:1")
    path = f"{place.server.state}/images/layers/{image['layers'][0]['digest'][7:]}/fs/a/f"
    with open(path, "r+b") as file:
        file.write(b"X")
    answer = place.client.expect(200, "POST", f"/v1/images/{image['digest']}/verify", {}).json()
    equal(answer["ok"], False)
    place.client.expect(200, "DELETE", f"/v1/images/{image['digest']}")
    place.pull("damage:1")
    equal(place.client.expect(200, "POST", f"/v1/images/{image['digest']}/verify", {}).json()["ok"], True)


def test_many_layers(place):
    archives = [Layer().folder("n").file(f"n/{number}", b"x").archive() for number in range(60)]
    program = layouts.static_program(place.folder)
    archives.append(Layer().folder("bin").file("bin/tell", program, mode=0o755).archive())
    place.publish("many-layers:1", archives)
    place.pull("many-layers:1")
    name = f"{place.registry.address}/many-layers:1"
    equal(place.run("--image", name, "--", "/bin/tell", "c", "/n/0", "/n/59").count("x"), 2)


def test_archives_without_their_end_are_read(place):
    whole = Layer().folder("a").file("a/f", b"x" * 700).archive()
    end = whole.index(b"x" * 700) + 700
    place.publish("unfinished:1", [whole[:end]])
    image = place.pull("unfinished:1")
    with trees.Mounted(place.server.state, image["digest"]) as root, open(f"{root}/a/f", "rb") as file:
        equal(file.read(), b"x" * 700)
    place.publish("short:1", [whole[:end - 1]])
    place.pull("short:1", status=400)


def test_images_that_are_not_here_are_named_in_hints(place):
    problem = place.client.expect(404, "POST", "/v1/sandboxes", {"image": "alpine"}).json()
    equal("cove pull alpine" in problem["hint"], True)
    problem = place.client.expect(404, "POST", "/v1/sandboxes", {"image": "127.0.0.1:5000/alpine"}).json()
    equal("cove pull 127.0.0.1:5000/alpine" in problem["hint"], True)
    equal("cove pull" in place.client.expect(404, "GET", f"/v1/images/sha256:{64 * '0'}").json()["hint"], False)
    place.publish("tagged:1", [Layer().file("f", b"x").archive()])
    place.pull("tagged:1")
    problem = place.client.expect(404, "GET", "/v1/images/tagged:2").json()
    equal(f"similar: {place.registry.address}/tagged:1" in problem["hint"], True)


def test_what_fails_says_what_and_on_what(place):
    address = place.registry.address
    for words, said in [(("pull", f"{address}/missing:7"), f"registry {address} has no image missing:7"),
                        (("pull", f"http://{address}/missing:7"), "remove 'http://'"),
                        (("pull", "127.0.0.1:1/x"), "check the registry's name and port"),
                        (("image", "load", "/nonexistent"), "load /nonexistent"),
                        (("pull", "host"), "the image host is this machine's own userland"),
                        (("image", "load", "/etc/passwd"), "load /etc/passwd: the archive cannot be read"),
                        (("image", "load", "/etc"), "load /etc: the folder is not an OCI layout"),
                        (("image", "import", "/etc/passwd", "x"), "import /etc/passwd: unpack the archive: not a tar archive"),
                        (("image", "tag", "host", "x"), "the image host is this machine itself"),
                        (("image", "verify", "host"), "the image host is this machine itself")]:
        done = place.cove(*words, ok=False)
        equal((words, done.returncode, said in done.stderr.decode()), (words, 125, True))


def test_images_are_listed_by_either_word(place):
    for word in ("ls", "list"):
        equal(place.cove("image", word, "--json").stdout, place.cove("images", "--json").stdout)
        equal(place.cove("image", word).stdout.splitlines()[0], place.cove("images").stdout.splitlines()[0])
    equal("check the registry's name and port" in place.cove("image", "pull", "127.0.0.1:1/x", ok=False).stderr.decode(), True)


def start_with_somebody_at_work(place, seconds):
    """Whether what is half-made is left, where whoever works on it dies so long after the server's start."""
    server = servers.Server(place.programs)
    half_made = f"{server.state}/images/tmp-0123456789"
    os.makedirs(f"{half_made}/fs", mode=0o700)
    held = os.open(half_made, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    dies = threading.Timer(seconds, os.close, [held])
    dies.start()
    server.start()
    left = os.path.exists(half_made)
    server.stop()
    dies.join()
    server.remove()
    return left


def test_what_dying_helpers_of_a_server_leave_goes_at_the_next_start(place):
    equal(start_with_somebody_at_work(place, 0.5), False)


def test_a_start_does_not_wait_forever_for_somebody_at_work(place):
    equal(start_with_somebody_at_work(place, 6), True)


def test_host_images_stay_as_long_as_they_are_shown(place):
    cache = f"{place.folder}/cache"
    server = servers.Server(place.programs)
    server.env["COVE_CACHE"] = cache
    server.start()
    client = server.client()
    box = client.expect(201, "POST", "/v1/sandboxes", {}).json()["id"]
    [shown] = set(os.listdir(f"{cache}/host")) - {".lock"}
    server.kill("both")
    client.close()
    for _ in range(5):
        # As after an upgrade: the sudo client is another file, and so the image is another one.
        programs = servers.copy_programs(place.build)
        env = {"PATH": os.environ["PATH"], "COVE_CACHE": cache, "COVE_STATE": f"{place.folder}/state"}
        subprocess.run([f"{programs}/cove", "run", "--direct", "--", "true"], env=env, check=True)
        shutil.rmtree(programs)
    there = set(os.listdir(f"{cache}/host")) - {".lock"}
    equal((shown in there, len(there)), (True, 5))
    server.start()
    answer = client.expect(200, "POST", f"/v1/sandboxes/{box}/execs?wait=true", {"shell": "sudo cat /etc/hostname; ls /dev/null"}).json()
    equal(answer["stdout"]["text"], "sandbox\n/dev/null\n")
    client.expect(204, "DELETE", f"/v1/sandboxes/{box}")
    client.close()
    server.stop()
    server.remove()


if __name__ == "__main__":
    sys.exit(main(globals()))
