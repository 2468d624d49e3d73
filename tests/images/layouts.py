"""Images made by hand: layers entry by entry, and OCI layouts and docker archives of them."""

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile

TIME = 1_600_000_000
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"


class Layer:
    """One archive. Each method adds an entry and returns the layer."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, name, kind, data=b"", mode=0o644, uid=0, gid=0, mtime=TIME, link="", xattrs=None, device=(0, 0), size=None):
        entry = tarfile.TarInfo(name)
        entry.type = kind
        entry.mode, entry.uid, entry.gid, entry.mtime, entry.linkname = mode, uid, gid, mtime, link
        entry.size = len(data) if size is None else size
        entry.devmajor, entry.devminor = device
        entry.pax_headers = {f"SCHILY.xattr.{key}": value for key, value in (xattrs or {}).items()}
        self.tar.addfile(entry, io.BytesIO(data) if data else None)
        return self

    def file(self, name, data=b"", **more):
        return self.add(name, tarfile.REGTYPE, data, **more)

    def folder(self, name, mode=0o755, **more):
        return self.add(name, tarfile.DIRTYPE, mode=mode, **more)

    def symlink(self, name, target, **more):
        return self.add(name, tarfile.SYMTYPE, mode=0o777, link=target, **more)

    def hardlink(self, name, target, **more):
        return self.add(name, tarfile.LNKTYPE, link=target, **more)

    def fifo(self, name, **more):
        return self.add(name, tarfile.FIFOTYPE, **more)

    def device(self, name, kind=tarfile.CHRTYPE, numbers=(1, 3), **more):
        return self.add(name, kind, device=numbers, **more)

    def whiteout(self, path):
        folder, _, name = path.rpartition("/")
        return self.file(f"{folder}/.wh.{name}" if folder else f".wh.{name}")

    def opaque(self, folder):
        return self.file(f"{folder}/.wh..wh..opq")

    def archive(self):
        self.tar.close()
        return self.buffer.getvalue()


def compress(data, how):
    if how == "gzip":
        return gzip.compress(data, 6, mtime=0), LAYER_TYPE + "+gzip"
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout, LAYER_TYPE + "+zstd"
    return data, LAYER_TYPE


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config_of(archives, config=None):
    return {
        "os": "linux",
        "architecture": ARCHITECTURE,
        "config": config or {},
        "rootfs": {"type": "layers", "diff_ids": [sha256(data) for data in archives]},
    }


class Layout:
    """An OCI layout on disk."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "blobs", "sha256"), exist_ok=True)
        with open(os.path.join(folder, "oci-layout"), "w") as file:
            file.write('{"imageLayoutVersion":"1.0.0"}')
        self.manifests = []

    def blob(self, data, media_type):
        if isinstance(data, (dict, list)):
            data = json.dumps(data).encode()
        digest = sha256(data)
        with open(os.path.join(self.folder, "blobs", "sha256", digest[7:]), "wb") as file:
            file.write(data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def manifest(self, config, layers):
        return self.blob({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers}, MANIFEST_TYPE)

    def add(self, name, archives, config=None, how=("gzip",)):
        """An image of archives, the lowest first."""
        layers = []
        for number, data in enumerate(archives):
            packed, media_type = compress(data, how[number % len(how)])
            layers.append(self.blob(packed, media_type))
        described = self.blob(config_of(archives, config), CONFIG_TYPE)
        manifest = self.manifest(described, layers)
        return self.name(manifest, name)

    def name(self, descriptor, name):
        self.manifests.append({**descriptor, "annotations": {"org.opencontainers.image.ref.name": name}})
        self.write_index()
        return descriptor["digest"]

    def write_index(self):
        with open(os.path.join(self.folder, "index.json"), "w") as file:
            json.dump({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": self.manifests}, file)

    def tar(self, path):
        with tarfile.open(path, "w") as tar:
            tar.add(self.folder, ".")
        return path


PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern char** environ;
int main(int argc, char** argv) {
  char cwd[4096];
  printf("uid=%d gid=%d cwd=%s", (int)getuid(), (int)getgid(), getcwd(cwd, sizeof cwd));
  for (int i = 0; i < argc; ++i) printf(" [%s]", argv[i]);
  const char* greeting = getenv("GREETING");
  printf(" GREETING=%s\n", greeting ? greeting : "-");
  if (argc > 2 && argv[1][0] == 'c') {  /* cat FILE… */
    for (int i = 2; i < argc; ++i) {
      FILE* file = fopen(argv[i], "r");
      if (!file) { printf("%s: missing\n", argv[i]); continue; }
      int c;
      while ((c = fgetc(file)) != EOF) putchar(c);
      fclose(file);
    }
  }
  return 0;
}
"""


def static_program(folder):
    """A program that needs nothing of an image, and tells how it was started."""
    path = os.path.join(folder, "tell")
    if not os.path.exists(path):
        source = path + ".c"
        with open(source, "w") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-static", "-Os", "-o", path, source], check=True)
    with open(path, "rb") as file:
        return file.read()


def has_zstd():
    return shutil.which("zstd") is not None


def rich_layers():
    """Three layers with most of what layers can have: things removed, folders made opaque, hard links also to files of
    layers below, set-id bits, owners, times, links of all kinds, names that are no UTF-8."""
    base = Layer()
    base.folder("./", mode=0o755).folder("etc").folder("usr").folder("usr/bin").folder("var", mode=0o2755, gid=8)
    base.folder("tmp", mode=0o1777).folder("home", mtime=TIME - 5).folder("home/app", mode=0o700, uid=1000, gid=1000)
    base.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n")
    base.file("etc/shadow", b"root:*:1::::::\n", mode=0o640, gid=42)
    base.file("usr/bin/one", b"one" * 1000, mode=0o755).hardlink("usr/bin/two", "usr/bin/one")
    base.file("usr/bin/su", b"set-id", mode=0o4755).file("usr/bin/wall", b"g", mode=0o2755, gid=5)
    base.symlink("usr/bin/link", "one").symlink("absolute", "/etc/passwd").symlink("out", "../../../etc/passwd")
    base.folder("opt").folder("opt/old").file("opt/old/a", b"a").file("opt/old/b", b"b").folder("opt/old/deep").file("opt/old/deep/c", b"c")
    base.folder("srv").file("srv/gone", b"gone").file("srv/stays", b"stays").folder("srv/dir").file("srv/dir/x", b"x")
    base.fifo("var/pipe", mode=0o600).file("var/empty").file("var/user", b"u", uid=1234, gid=4321, mode=0o600)
    base.file("var/times", b"t", mtime=1234567890.5).file("var/tagged", b"x", xattrs={"user.color": "blue"})
    base.file("var/n\udce4me", b"latin").folder("var/lib").file("var/lib/big", bytes(range(256)) * 8192)

    middle = Layer()
    middle.folder("opt/old", mode=0o750).opaque("opt/old").file("opt/old/new", b"new")
    middle.folder("srv").whiteout("srv/gone").whiteout("srv/dir").file("srv/fresh", b"fresh")
    middle.folder("usr").folder("usr/bin").hardlink("usr/bin/three", "usr/bin/one")
    middle.file("home/app/file", b"without its folders", uid=1000, gid=1000)
    middle.folder("etc").symlink("etc/os-release", "../usr/lib/os-release")

    top = Layer()
    top.folder("srv").folder("srv/dir", mode=0o700).file("srv/dir/again", b"again")
    top.whiteout("opt/old/new").folder("opt").file("opt/old/last", b"last")
    top.folder("usr").folder("usr/bin").file("usr/bin/one", b"replaced", mode=0o755)
    top.folder("var").whiteout("var/empty").folder("var/pipe", mode=0o711).file("var/pipe/inside", b"was a pipe")
    return [base.archive(), middle.archive(), top.archive()]
