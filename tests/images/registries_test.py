#!/usr/bin/python3
"""Registries that want to know who asks, bad lines, full disks, and servers without privilege: registries_test.py BUILD [NAME…].
The last line is the sum."""

import base64
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import threading
import time

sys.path[:0] = [os.path.join(os.path.dirname(__file__), "..", "crash"), os.path.dirname(__file__)]
import layouts
import server as servers
from layouts import Layer
from place import equal, main, part
from proxy import Proxy
from registry import Registry
from tokens import TokenServer

ACCOUNTS = {"ann": "se:cret"}
IDENTITY = "ann's identity token"
BIG = 8 << 20


@contextlib.contextmanager
def stopping(thing):
    try:
        yield thing
    finally:
        thing.stop()


@contextlib.contextmanager
def registry_with(place, name, **how):
    folder = f"{place.folder}/{name}"
    os.makedirs(folder)
    with stopping(Registry(folder, **how)) as registry:
        yield registry


def publish(place, registry, name, archives, *more):
    layout = place.layout()
    layout.add("x", archives)
    registry.push(layout.folder, "x", name, *more)
    with open(f"{layout.folder}/index.json") as file:
        manifest = json.load(file)["manifests"][0]["digest"]
    with open(f"{layout.folder}/blobs/sha256/{manifest[7:]}") as file:
        return [layer["digest"] for layer in json.load(file)["layers"]]


def small(text=b"x"):
    return [Layer().folder("a").file("a/f", text).archive()]


def big():
    return [Layer().file("big", os.urandom(BIG)).archive()]


def pull(place, reference, status=200, **more):
    place.client.close()
    return place.client.expect(status, "POST", "/v1/images?wait=true", {"reference": reference, **more}).json()


def verify(place, reference):
    equal(place.client.expect(200, "POST", f"/v1/images/{part(reference)}/verify", {}).json(), {"ok": True, "problems": []})


def partial(place, layer):
    return f"{place.server.state}/server/images/partial/{layer[7:]}"


def write_login(folder, registry, **login):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w") as file:
        json.dump({"auths": {registry: login}}, file)


def basic(name, password):
    return base64.b64encode(f"{name}:{password}".encode()).decode()


# --- who asks --------------------------------------------------------------------------------------------------------

def test_name_and_password(place):
    with registry_with(place, "basic", accounts=ACCOUNTS) as registry:
        publish(place, registry, "closed:1", small(), "--dest-creds", "ann:se:cret")
        name = f"{registry.address}/closed:1"
        equal("login" in pull(place, name, 403)["hint"], True)
        pull(place, name, 403, login={"username": "ann", "password": "wrong"})
        pull(place, name, login={"username": "ann", "password": "se:cret"})
        verify(place, name)


def test_login_of_docker_is_found(place):
    with registry_with(place, "docker", accounts=ACCOUNTS) as registry:
        publish(place, registry, "closed:1", small(b"docker"), "--dest-creds", "ann:se:cret")
        name = f"{registry.address}/closed:1"
        equal(place.cove("pull", name, ok=False).returncode, 125)
        write_login(f"{place.folder}/.docker", registry.address, auth=basic("ann", "wrong"))
        equal(place.cove("pull", name, ok=False).returncode, 125)
        write_login(f"{place.folder}/.docker", registry.address, auth=basic("ann", "se:cret"))
        equal(place.cove("pull", name).stdout.decode().startswith("sha256:"), True)
        write_login(f"{place.folder}/.docker", registry.address)
        with open(f"{place.folder}/.docker/config.json", "w") as file:
            json.dump({"credHelpers": {registry.address: "desktop"}}, file)
        equal(b"'desktop'" in place.cove("pull", name, ok=False).stderr, True)
        shutil.rmtree(f"{place.folder}/.docker")


def test_tokens(place):
    with stopping(TokenServer(place.folder, ACCOUNTS, IDENTITY)) as tokens, registry_with(place, "tokens", token_server=tokens) as registry:
        for name in ("public/open:1", "closed:1"):
            publish(place, registry, name, small(name.encode()), "--dest-creds", "ann:se:cret")
        tokens.asked.clear()
        pull(place, f"{registry.address}/public/open:1")
        equal(tokens.asked, [("GET", ["repository:public/open:pull"], True)])
        pull(place, f"{registry.address}/closed:1", 403)
        pull(place, f"{registry.address}/closed:1", 403, login={"username": "ann", "password": "wrong"})
        pull(place, f"{registry.address}/closed:1", login={"username": "ann", "password": "se:cret"})
        place.client.expect(200, "DELETE", f"/v1/images/{part(registry.address + '/closed:1')}")
        write_login(f"{place.folder}/.docker", registry.address, auth=basic("ann", ""), identitytoken=IDENTITY)
        place.cove("pull", f"{registry.address}/closed:1")
        equal(tokens.asked[-1], ("POST", ["repository:closed:pull"], True))
        shutil.rmtree(f"{place.folder}/.docker")
        verify(place, f"{registry.address}/closed:1")


def test_logins_do_not_follow_redirects(place):
    with registry_with(place, "redirects", accounts=ACCOUNTS) as registry, stopping(Proxy(registry.address)) as first, \
            stopping(Proxy(place.registry.address)) as second:
        archives = small(b"redirected")
        publish(place, registry, "away:1", archives, "--dest-creds", "ann:se:cret")
        publish(place, place.registry, "away:1", archives)
        first.elsewhere = second.address
        pull(place, f"{first.address}/away:1", login={"username": "ann", "password": "se:cret"})
        equal(any(login for _, _, login in first.seen), True)
        equal(len(second.seen) >= 2, True)
        equal([login for _, _, login in second.seen if login], [])


def test_plain_http_only_where_allowed(place):
    # An address of this machine that is not one of the loopback's.
    with stopping(Proxy(place.registry.address, "0.0.0.0")) as proxy:
        publish(place, place.registry, "plain:1", small(b"plain"))
        problem = pull(place, f"{proxy.address}/plain:1", 400)
        equal("images.insecure_registries" in problem["hint"], True)
        equal(proxy.seen, [])
        place.server.stop()
        place.server.settings.append(f"images.insecure_registries={proxy.address}")
        place.server.start()
        place.client.close()
        pull(place, f"{proxy.address}/plain:1")


def restart(place, *settings):
    place.server.stop()
    place.server.settings.extend(settings)
    place.server.start()
    place.client.close()


def test_names_without_a_registry_are_docker_hubs(place):
    with stopping(Proxy(place.registry.address)) as mirror:
        publish(place, place.registry, "library/hub:1", small(b"hub"))
        restart(place, f"images.mirror={mirror.address}")
        login = {"username": "ann", "password": "se:cret"}
        for name in ["hub:1", "docker.io/hub:1", "docker.io/library/hub:1"]:
            equal(pull(place, name, login=login)["names"], ["docker.io/library/hub:1"])
            place.client.expect(200, "GET", f"/v1/images/{part(name)}")
        equal([sent for _, _, sent in mirror.seen if sent], [])  # a mirror is not shown the login at Docker Hub
    restart(place, "images.registry=")
    problem = pull(place, "hub:1", 400)
    equal("images.registry" in problem["hint"], True)


def test_tls_is_spoken_on_the_loopback_too(place):
    key, certificate = f"{place.folder}/tls.key", f"{place.folder}/tls.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                    "-subj", "/CN=cove-test", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    with registry_with(place, "tls", certificate=(certificate, key)) as registry:
        said = place.cove("pull", f"{registry.address}/closed:1", ok=False).stderr.decode()
        equal(("certificate" in said, "400" in said), (True, False))  # nobody here vouches for it


# --- bad lines ---------------------------------------------------------------------------------------------------------

def test_a_broken_connection_goes_on_where_it_was(place):
    [layer] = publish(place, place.registry, "broken:1", big())
    with stopping(Proxy(place.registry.address)) as proxy:
        proxy.breaks = [BIG // 4, BIG // 4]
        pull(place, f"{proxy.address}/broken:1")
        asked = proxy.blobs(layer)
        equal(len(asked), 3)
        equal(asked[0], None)
        starts = [int(words[len("bytes="):-1]) for words in asked[1:]]
        equal(BIG // 8 < starts[0] < starts[1], True)
        verify(place, f"{proxy.address}/broken:1")


def test_a_registry_without_ranges_begins_anew(place):
    [layer] = publish(place, place.registry, "ranges:1", big())
    with stopping(Proxy(place.registry.address)) as proxy:
        proxy.breaks, proxy.ranges = [BIG // 2], False
        pull(place, f"{proxy.address}/ranges:1")
        equal(len(proxy.blobs(layer)), 2)
        verify(place, f"{proxy.address}/ranges:1")


def wait_for_a_part(place, layer):
    until = time.monotonic() + 60
    while len(servers.read(partial(place, layer))) <= BIG // 8:
        equal(time.monotonic() < until, True)
        time.sleep(0.01)


def stop_in_the_middle(place, proxy, name, layer):
    """A pull whose server is killed when a good part of a layer is there."""
    proxy.stall_at = BIG // 2
    place.client.close()
    place.client.expect(202, "POST", "/v1/images", {"reference": f"{proxy.address}/{name}"})
    wait_for_a_part(place, layer)
    place.server.kill("both")
    proxy.go_on.set()
    place.server.start()
    place.client.close()


def test_an_interrupted_pull_goes_on_where_it_was(place):
    [layer] = publish(place, place.registry, "killed:1", big())
    with stopping(Proxy(place.registry.address)) as proxy:
        stop_in_the_middle(place, proxy, "killed:1", layer)
        place.client.expect(404, "GET", f"/v1/images/{part(proxy.address + '/killed:1')}")
        pull(place, f"{proxy.address}/killed:1")
        [first, second] = proxy.blobs(layer)
        equal(first, None)
        equal(int(second[len("bytes="):-1]) > BIG // 8, True)
        verify(place, f"{proxy.address}/killed:1")


def test_who_waits_for_a_pull_is_told_that_the_server_stops(place):
    [layer] = publish(place, place.registry, "stopped:1", big())
    with stopping(Proxy(place.registry.address)) as proxy:
        proxy.stall_at = BIG // 2
        client, answers = place.server.client(120), []
        order = {"reference": f"{proxy.address}/stopped:1"}
        waiting = threading.Thread(target=lambda: answers.append(client.call("POST", "/v1/images?wait=true", order)))
        waiting.start()
        wait_for_a_part(place, layer)
        stopping_server = threading.Thread(target=place.server.stop)
        stopping_server.start()
        waiting.join(60)
        proxy.go_on.set()
        stopping_server.join()
        client.close()
        place.server.start()
        place.client.close()
        [answer] = answers
        equal((answer.status, answer.json()["detail"]), (503, "the server stops before the operation has ended"))
        pull(place, f"{proxy.address}/stopped:1")
        verify(place, f"{proxy.address}/stopped:1")


def test_what_was_spoilt_meanwhile_is_fetched_again(place):
    [layer] = publish(place, place.registry, "spoilt:1", big())
    with stopping(Proxy(place.registry.address)) as proxy:
        stop_in_the_middle(place, proxy, "spoilt:1", layer)
        with open(partial(place, layer), "r+b") as file:
            file.write(b"spoilt")
        pull(place, f"{proxy.address}/spoilt:1")
        equal([words is None for words in proxy.blobs(layer)], [True, False, True])
        verify(place, f"{proxy.address}/spoilt:1")


def test_pulls_at_once_fetch_each_layer_once(place):
    layers = publish(place, place.registry, "shared:1", big() + big() + small(b"shared"))
    with stopping(Proxy(place.registry.address)) as proxy:
        digests = []

        def pull_it():
            client = place.server.client(120)
            digests.append(client.expect(200, "POST", "/v1/images?wait=true", {"reference": f"{proxy.address}/shared:1"}).json()["digest"])
            client.close()

        threads = [threading.Thread(target=pull_it) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        equal(len(digests), 4)
        equal([len(proxy.blobs(layer)) for layer in layers], [1, 1, 1])


# --- full disks --------------------------------------------------------------------------------------------------------

def test_a_full_disk_leaves_a_store_that_works(place):
    server = servers.Server(place.programs, ["pool.size=0"])
    os.makedirs(server.state)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m,mode=755", "tmpfs", server.state], check=True)
    try:
        server.start()
        client = server.client(120)
        address = place.registry.address
        publish(place, place.registry, "fits:1", big())
        # One does not fit as it is sent, one not when it is unpacked, one has too many parts.
        publish(place, place.registry, "sent:1", [Layer().file("f", os.urandom(64 << 20)).archive()])
        publish(place, place.registry, "zeros:1", [Layer().file("f", b"x" * (64 << 20)).archive()])
        publish(place, place.registry, "parts:1", [Layer().file(f"f{n}", os.urandom(12 << 20)).archive() for n in range(5)])

        def ask(status, name):
            return client.expect(status, "POST", "/v1/images?wait=true", {"reference": f"{address}/{name}"}).json()

        ask(200, "fits:1")
        for name in ("sent:1", "zeros:1", "parts:1"):
            equal("cove image prune" in ask(429, name)["hint"], True)
            client.expect(404, "GET", f"/v1/images/{part(f'{address}/{name}')}")
            equal(client.expect(200, "POST", f"/v1/images/{part(address + '/fits:1')}/verify", {}).json()["ok"], True)
            client.expect(200, "POST", "/v1/images/prune", {})
        equal(sorted(name for name in os.listdir(f"{server.state}/images") if name.startswith("tmp-")), [])
        equal(os.listdir(f"{server.state}/server/images/partial"), [])
        server.kill("both")
        server.start()
        client.close()
        equal([image["name"] for image in client.expect(200, "GET", "/v1/images").json()["items"] if image["digest"]], [f"{address}/fits:1"])
        client.expect(200, "DELETE", f"/v1/images/{part(address + '/fits:1')}")
        ask(200, "fits:1")
        client.close()
        server.stop()
    finally:
        server.end_sandboxes()
        subprocess.run(["umount", "-l", server.state], check=True)
        server.remove()


# --- without privilege ---------------------------------------------------------------------------------------------------

def people():
    """Ordinary users: one without further ids, and, where the machine has such a one, one with."""
    found = [("with one id", 12345)]
    for line in servers.read("/etc/subuid").decode().splitlines():
        name, _, count = line.split(":")
        if int(count) >= 65536 and not name.isdigit():
            found.append(("with many ids", pwd.getpwnam(name).pw_uid))
    return found


def check_other_runtimes(runtimes, run, expected):
    """A runtime does the same, or is refused with what `cove doctor` says of it."""
    for runtime in runtimes:
        if runtime["name"] in ("native", "docker", "podman"):
            continue
        done = run(runtime["name"])
        if runtime["available"]:
            equal((runtime["name"], done.returncode, done.stdout.decode()), (runtime["name"], 0, expected))
        else:
            equal((runtime["name"], done.returncode, done.stdout), (runtime["name"], 125, b""))
            said = done.stderr.decode()
            equal((said, runtime["problem"] in said, runtime["remedy"] in said), (said, True, True))


def test_ordinary_users_pull_and_run(place):
    program = layouts.static_program(place.folder)
    archives = layouts.rich_layers() + [Layer().folder("bin").file("bin/tell", program, mode=0o755).archive()]
    publish(place, place.registry, "ordinary:1", archives)
    name = f"{place.registry.address}/ordinary:1"
    for who, uid in people():
        server = servers.Server(place.programs, ["pool.size=0"], uid)
        try:
            server.start()
            env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "COVE_HOST": f"unix:{server.socket}", "COVE_STATE": server.state, "HOME": server.folder}

            def try_cove(*words):
                as_him = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", place.programs + "/cove", *words]
                return subprocess.run(as_him, env=env, cwd=server.folder, capture_output=True)

            def cove(*words):
                done = try_cove(*words)
                if done.returncode != 0:
                    raise AssertionError(f"{who}: cove {' '.join(words)}: {done.returncode}: {done.stderr.decode()}")
                return done.stdout.decode()

            cove("pull", "-q", name)
            words = ["--image", name, "--", "/bin/tell", "c", "/srv/stays", "/srv/gone", "/opt/old/last"]
            expected = "uid=0 gid=0 cwd=/root [/bin/tell] [c] [/srv/stays] [/srv/gone] [/opt/old/last] GREETING=-\nstays/srv/gone: missing\nlast"
            equal((who, cove("run", "--server", *words)), (who, expected))
            equal((who, cove("run", "--direct", *words)), (who, expected))
            machine = json.loads(cove("doctor", "--json"))
            check_other_runtimes(machine["runtimes"], lambda runtime: try_cove("run", "--server", "--runtime", runtime, *words), expected)
            cove("image", "verify", name)
            cove("image", "rm", name)
            server.stop()
        finally:
            server.remove()


if __name__ == "__main__":
    sys.exit(main(globals()))
