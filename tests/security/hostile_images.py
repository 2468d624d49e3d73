#!/usr/bin/python3
"""A corpus of hostile images: hostile_images.py BUILD [NAME…]. Each is refused, or does no harm; the server goes on, nothing is
written outside of its folders, and nothing half-made is left. The last line is the sum."""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "crash"), os.path.join(HERE, "..", "images")]
import hostile_registry
import layouts
import server as servers
from layouts import CONFIG_TYPE, INDEX_TYPE, LAYER_TYPE, MANIFEST_TYPE, Layer, Layout

MAX_SIZE = 64 << 20
MAX_ENTRIES = 3000
ESCAPED = ["/cove-escaped", "/tmp/cove-escaped", "/etc/cove-escaped"]

REFUSED, HARMLESS = "refused", "harmless"


def raw(data):
    """A layer whose archive is not made by tarfile."""
    return data


# --- layers: name → (what is to come of it, archives) --------------------------------------------------------------------

def layer_cases():
    yield "name goes upwards", REFUSED, Layer().file("../cove-escaped", b"x")
    yield "name goes upwards within", REFUSED, Layer().folder("a").file("a/../../../../../cove-escaped", b"x")
    yield "name is absolute", HARMLESS, Layer().file("/cove-escaped", b"x").file("//tmp//cove-escaped", b"x")
    yield "write through link to the root", HARMLESS, Layer().symlink("l", "/").file("l/cove-escaped", b"x")
    yield "write through link upwards", HARMLESS, Layer().symlink("l", "../../../../../../..").file("l/cove-escaped", b"x")
    yield "write through link to /proc", REFUSED, Layer().symlink("l", "/proc/1/root").file("l/cove-escaped", b"x")
    yield "folder is replaced by a link", HARMLESS, \
        Layer().folder("d").file("d/a").symlink("d", "/tmp").folder("tmp").file("d/cove-escaped", b"x")
    yield "folder of the layer below is replaced by a link", REFUSED, \
        [Layer().folder("d").file("d/a").folder("tmp"), Layer().symlink("d", "/tmp").file("d/cove-escaped", b"x")]
    yield "folder of the layer below is replaced by a link to the host's", REFUSED, \
        [Layer().folder("d").file("d/a"), Layer().symlink("d", "/proc/self/root/etc").file("d/cove-escaped", b"x")]
    yield "write through a link of the layer below", HARMLESS, \
        [Layer().symlink("l", "../../../../.."), Layer().file("l/cove-escaped", b"x").file("l/tmp/cove-escaped", b"x")]
    yield "removes through a link of the layer below", HARMLESS, \
        [Layer().symlink("l", "/etc").folder("etc").file("etc/passwd", b"root:x:0:0::/:/x\n"), Layer().whiteout("l/passwd")]
    yield "hides through a link of the layer below", HARMLESS, [Layer().symlink("l", "/etc").folder("etc"), Layer().opaque("l")]
    yield "hard link through a link of the layer below", REFUSED, [Layer().symlink("l", "/etc"), Layer().hardlink("x", "l/shadow")]
    yield "folder is replaced by a link, then hidden", REFUSED, Layer().folder("e").symlink("d", "e").file("d/.wh..wh..opq")
    yield "links in a circle", REFUSED, Layer().symlink("a", "b").symlink("b", "a").file("a/x", b"x")
    yield "hard link upwards", REFUSED, Layer().hardlink("x", "../../../../etc/passwd")
    yield "hard link to a file of the host", REFUSED, Layer().hardlink("x", "/etc/shadow")
    yield "hard link through a link", REFUSED, Layer().symlink("l", "/etc").hardlink("x", "l/shadow")
    yield "hard link to itself", REFUSED, Layer().hardlink("x", "x")
    yield "hard link to a folder", REFUSED, Layer().folder("d").hardlink("x", "d")
    yield "devices", HARMLESS, Layer().device("null").device("disk", tarfile.BLKTYPE, (8, 0)).device("mem", numbers=(1, 1))
    yield "device that overlayfs takes for a removal", HARMLESS, [Layer().file("a", b"x"), Layer().device("a", numbers=(0, 0))]
    yield "set-id files", HARMLESS, Layer().file("su", b"x", mode=0o6755)
    yield "removes what has no name", REFUSED, Layer().file(".wh.")
    yield "removes the folder above", REFUSED, Layer().folder("a").file("a/.wh...")
    yield "removes upwards", REFUSED, Layer().file("../.wh.etc")
    yield "attributes of overlayfs", HARMLESS, Layer().folder("d", xattrs={
        "trusted.overlay.redirect": "/etc", "user.overlay.redirect": "/etc", "trusted.overlay.opaque": "y", "user.overlay.opaque": "y"})
    yield "attributes of security", HARMLESS, Layer().file("f", b"x", xattrs={"security.selinux": "x", "security.evm": "x"})
    yield "file says it is huge", REFUSED, Layer().add("big", tarfile.REGTYPE, size=1 << 40)
    yield "bomb of zeros", REFUSED, raw(gzip.compress(Layer().file("zeros", bytes(MAX_SIZE + (1 << 20))).archive(), 9))
    yield "bomb of zeros, with zstd", REFUSED, raw(layouts.compress(Layer().file("zeros", bytes(MAX_SIZE + (1 << 20))).archive(), "zstd")[0])
    yield "bomb of many small files", REFUSED, many_files(2000, MAX_SIZE // 1000)
    yield "many entries", REFUSED, many_entries()
    yield "hole of a terabyte", REFUSED, sparse_archive(1 << 40)
    yield "file with children", REFUSED, Layer().file("f", b"x").file("f/x", b"x")
    yield "name is too long", REFUSED, Layer().file("n" * 300, b"x")
    yield "path is too long", REFUSED, Layer().file("/".join(["n" * 100] * 60), b"x")
    yield "path is very deep", HARMLESS, Layer().file("/".join(["d"] * 900) + "/f", b"x")
    yield "owner beyond the range", HARMLESS, Layer().file("f", b"x", uid=4294967295, gid=70000)
    yield "times beyond reason", HARMLESS, Layer().file("f", b"x", mtime=-1).file("g", b"x", mtime=1 << 40)
    yield "accounts are a pipe", HARMLESS, Layer().folder("etc").fifo("etc/passwd").fifo("etc/group")
    yield "accounts are a link to the host's", HARMLESS, Layer().folder("etc").symlink("etc/passwd", "/etc/shadow")
    yield "system folders are links", HARMLESS, \
        Layer().symlink("etc", "/proc/1/root/etc").symlink("usr", "/").symlink("home", "../..").symlink("tmp", "/etc")
    yield "system folders are files", HARMLESS, Layer().file("proc").file("dev").file("sys").file("workspace").file("run").file("tmp")
    yield "archive ends early", REFUSED, raw(Layer().file("f", b"x" * 5000).archive()[:2000])
    yield "compression ends early", REFUSED, raw(gzip.compress(Layer().file("f", os.urandom(5000)).archive())[:3000])
    yield "archive is nonsense", REFUSED, raw(b"\x7fELF" + os.urandom(4096))
    yield "header has a wrong sum", REFUSED, raw(b"bad" + Layer().file("f", b"x" * 600).archive()[3:])
    yield "zero byte in a name", REFUSED, zero_in_name()


def many_entries():
    layer = Layer()
    for number in range(MAX_ENTRIES + 10):
        layer.file(f"f{number}")
    return layer


def many_files(number, size):
    layer, data = Layer(), bytes(size)
    for each in range(number):
        layer.file(f"f{each}", data)
    return raw(gzip.compress(layer.archive(), 1))


def sparse_archive(size):
    """As GNU tar writes a file that is one hole."""
    folder = tempfile.mkdtemp(prefix="cove-hostile-")
    with open(f"{folder}/hole", "wb") as file:
        file.truncate(size)
    done = subprocess.run(["tar", "-S", "-C", folder, "-c", "hole"], stdout=subprocess.PIPE)
    shutil.rmtree(folder)
    return raw(done.stdout)


def zero_in_name():
    layer = Layer()
    entry = tarfile.TarInfo("placeholder")
    entry.pax_headers = {"path": "../../../cove\0/../cove-escaped"}
    entry.size = 0
    layer.tar.addfile(entry)
    return layer


# --- documents: name → a function that makes a layout ---------------------------------------------------------------------

def good_layer(layout):
    archive = Layer().folder("a").file("a/f", b"x").archive()
    return archive, layout.blob(archive, LAYER_TYPE)


def document_cases():
    def with_manifest(change, config_change=lambda config: config):
        def make(layout):
            archive, layer = good_layer(layout)
            config = layout.blob(config_change(layouts.config_of([archive])), CONFIG_TYPE)
            manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [layer]}
            layout.name(layout.blob(change(manifest), MANIFEST_TYPE), "x")
        return make

    def layer_with(**more):
        return with_manifest(lambda manifest: {**manifest, "layers": [{**manifest["layers"][0], **more}]})

    yield "layer has another digest", layer_with(digest="sha256:" + "0" * 64)
    yield "layer has another size", layer_with(size=3)
    yield "layer's size is below zero", layer_with(size=-1)
    yield "layer's size is no number", layer_with(size="big")
    yield "digest is a path", layer_with(digest="sha256:../../../../etc/passwd")
    yield "digest is of another kind", layer_with(digest="md5:" + "0" * 32)
    yield "layer is encrypted", layer_with(mediaType=LAYER_TYPE + "+encrypted")
    yield "too many layers", with_manifest(lambda manifest: {**manifest, "layers": manifest["layers"] * 500})
    yield "layers are no list", with_manifest(lambda manifest: {**manifest, "layers": {"0": 1}})
    yield "old schema", with_manifest(lambda manifest: {**manifest, "schemaVersion": 1})
    yield "manifest and index in one", with_manifest(lambda manifest: {**manifest, "manifests": []})
    yield "media type is another", with_manifest(lambda manifest: {**manifest, "mediaType": INDEX_TYPE})
    yield "not an image", with_manifest(lambda manifest: {**manifest, "config": {**manifest["config"], "mediaType": "application/vnd.x"}})
    yield "config has another digest", with_manifest(lambda manifest: {**manifest, "config": {**manifest["config"], "digest": manifest["layers"][0]["digest"]}})
    yield "gigantic manifest", with_manifest(lambda manifest: {**manifest, "annotations": {"x": "y" * (5 << 20)}})
    yield "layer is not what the config says", with_manifest(
        lambda manifest: manifest, lambda config: {**config, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + "1" * 64]}})
    yield "config has other layers", with_manifest(lambda manifest: manifest, lambda config: {**config, "rootfs": {"diff_ids": []}})
    yield "config without a root", with_manifest(lambda manifest: manifest, lambda config: {"os": "linux"})
    yield "image of another system", with_manifest(lambda manifest: manifest, lambda config: {**config, "os": "windows"})
    yield "zero byte in a variable", with_manifest(lambda manifest: manifest, lambda config: {**config, "config": {"Env": ["A=\0"]}})
    yield "variable without a name", with_manifest(lambda manifest: manifest, lambda config: {**config, "config": {"Env": ["=x"]}})
    yield "entrypoint is no list", with_manifest(lambda manifest: manifest, lambda config: {**config, "config": {"Entrypoint": "sh"}})

    def nested(layout):
        archive, layer = good_layer(layout)
        inner = layout.manifest(layout.blob(layouts.config_of([archive]), CONFIG_TYPE), [layer])
        for _ in range(10):
            inner = layout.blob({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [inner]}, INDEX_TYPE)
        layout.name(inner, "x")

    def circle(layout):
        # No document can hold its own digest: one of the two is not what its name says.
        first = layout.blob({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": []}, INDEX_TYPE)
        second = layout.blob({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [first]}, INDEX_TYPE)
        with open(f"{layout.folder}/blobs/sha256/{first['digest'][7:]}", "w") as file:
            json.dump({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [second]}, file)
        layout.name(first, "x")

    def deep(layout):
        with open(f"{layout.folder}/index.json", "w") as file:
            file.write('{"schemaVersion":2,"manifests":' + "[" * 100000 + "]" * 100000 + "}")

    yield "indexes in indexes", nested
    yield "indexes in a circle", circle
    yield "document nested deeply", deep


def archive_cases():
    """What is loaded, where its own names are hostile."""
    def tar(*entries):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as out:
            for name, data, link in entries:
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                if link:
                    entry.type, entry.linkname = tarfile.SYMTYPE, link
                out.addfile(entry, io.BytesIO(data))
        return buffer.getvalue()

    manifest = json.dumps([{"Config": "../../../../etc/passwd", "Layers": ["/etc/shadow"]}]).encode()
    yield "docker archive names files of the host", tar(("manifest.json", manifest, ""), ("../cove-escaped", b"x", ""))
    manifest = json.dumps([{"Config": "a", "Layers": ["a"]}]).encode()
    yield "docker archive of links in a circle", tar(("manifest.json", manifest, ""), ("a", b"", "b"), ("b", b"", "a"))
    yield "docker archive is no list", tar(("manifest.json", b'{"Config":1}', ""))
    yield "archive without images", tar(("x", b"x", ""))
    yield "archive is empty", b""


def plain_of(data):
    """What is compressed in it, where that can be told."""
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" and len(data) > 10_000 else data


class Bench:
    def __init__(self, build):
        self.folder = tempfile.mkdtemp(prefix="cove-hostile-")
        self.programs = servers.copy_programs(build)
        self.server = servers.Server(self.programs, ["pool.size=0", f"images.max_size={MAX_SIZE}", f"images.max_entries={MAX_ENTRIES}"])
        self.server.start()
        self.client = self.server.client(120)
        self.count = 0

    def layout(self):
        self.count += 1
        return Layout(f"{self.folder}/{self.count}")

    def load(self, data):
        return self.client.call("POST", "/v1/images/load", data, {"Content-Type": "application/x-tar"})

    def load_layout(self, layout):
        path = layout.tar(layout.folder + ".tar")
        with open(path, "rb") as file:
            return self.load(file.read())

    def check_after(self, answer, wish):
        if answer.status >= 500 and answer.status != 501:
            raise AssertionError(f"the server failed: {answer}")
        accepted = answer.status == 200
        if accepted != (wish == HARMLESS):
            raise AssertionError(f"it was not {wish}: {answer}")
        self.check_nothing_left()
        if not accepted:
            return
        for image in answer.json()["items"]:
            self.use(image)

    def check_nothing_left(self):
        for path in ESCAPED:
            if os.path.lexists(path):
                raise AssertionError(f"{path} is there")
        left = [name for name in servers.listing(self.server.state + "/images") if name.startswith("tmp-")]
        if left:
            raise AssertionError(f"half-made things are left: {left}")

    def use(self, image):
        """Whatever is in it, a sandbox of it can be made, used and removed."""
        verdict = self.client.expect(200, "POST", f"/v1/images/{image['digest']}/verify", {}).json()
        if not verdict["ok"]:
            raise AssertionError(f"{verdict}")
        box = self.client.expect(201, "POST", "/v1/sandboxes", {"image": image["digest"], "user": "0"}).json()
        self.client.expect(200, "GET", f"/v1/sandboxes/{box['id']}/entries?path=/&depth=1")
        self.client.expect(204, "DELETE", f"/v1/sandboxes/{box['id']}")
        self.client.expect(200, "DELETE", f"/v1/images/{image['digest']}?force=true")

    def try_layers(self, wish, layers):
        layout = self.layout()
        archives = [each if isinstance(each, bytes) else each.archive() for each in (layers if isinstance(layers, list) else [layers])]
        plain = [plain_of(data) for data in archives]
        described = layout.blob(layouts.config_of(plain), CONFIG_TYPE)
        layout.name(layout.manifest(described, [layout.blob(data, LAYER_TYPE) for data in archives]), "x")
        self.check_after(self.load_layout(layout), wish)

    def try_document(self, make):
        layout = self.layout()
        make(layout)
        self.check_after(self.load_layout(layout), REFUSED)

    def try_registry(self, name, answers):
        registry = hostile_registry.HostileRegistry(answers)
        try:
            answer = self.client.call("POST", "/v1/images?wait=true", {"reference": f"{registry.address}/x:1"})
            sound = name == hostile_registry.SOUND
            if (answer.status == 200) != sound or not registry.asked:
                raise AssertionError(f"{answer}, after {registry.asked}")
            if sound:
                self.client.expect(200, "DELETE", f"/v1/images/{answer.json()['digest']}")
            self.check_nothing_left()
        finally:
            registry.stop()

    def end(self):
        self.server.stop()
        self.server.remove()
        shutil.rmtree(self.programs)
        shutil.rmtree(self.folder)


def main():
    bench = Bench(sys.argv[1])
    wanted = sys.argv[2:]
    passed = failed = 0
    cases = [(name, lambda wish=wish, layers=layers: bench.try_layers(wish, layers)) for name, wish, layers in layer_cases()]
    cases += [(name, lambda make=make: bench.try_document(make)) for name, make in document_cases()]
    cases += [(name, lambda data=data: bench.check_after(bench.load(data), REFUSED)) for name, data in archive_cases()]
    cases += [(name, lambda name=name, answers=answers: bench.try_registry(name, answers)) for name, answers in hostile_registry.cases()]
    for name, act in cases:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            act()
            passed += 1
        except Exception:
            failed += 1
            print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
            bench.client.close()
    if failed:
        print(servers.read(bench.server.log).decode(errors="replace")[-3000:])
    try:
        bench.end()
    except Exception:
        failed += 1
        traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
