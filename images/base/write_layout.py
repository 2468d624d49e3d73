#!/usr/bin/python3
"""Writes a root file system as an OCI layout: write_layout.py ROOT.tar CONFIG.json NAME FOLDER

The same files make the same bytes: entries are sorted, and have no times of their own but those that packages gave them. The image is
as old as its youngest package, and what is younger was made by the build, and is given that age. Layers have no files in
common, so that they can be unpacked at the same time. Prints the digest."""

import concurrent.futures
import datetime
import gzip
import hashlib
import json
import os
import sys
import tarfile

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
# What has a layer of its own, by how its names begin; the first layer has the rest.
LAYERS = [("the system", ()),
          ("libraries", ("usr/lib/x86_64-linux-gnu/", "usr/lib/aarch64-linux-gnu/")),
          ("Python's packages", ("usr/lib/python3",)),
          ("other languages, compilers and fonts", ("usr/lib/gcc/", "usr/lib/jvm/", "usr/lib/R/", "usr/local/", "usr/share/fonts/"))]


class Digest:
    """Passes on what is written, and hashes it."""

    def __init__(self, file):
        self.file, self.hash, self.size = file, hashlib.sha256(), 0

    def write(self, data):
        self.hash.update(data)
        self.size += len(data)
        return self.file.write(data)

    def flush(self):
        self.file.flush()

    def name(self):
        return "sha256:" + self.hash.hexdigest()


def clean_name(name):
    return os.path.normpath(name) if name not in ("", "./", ".") else "."


def layer_of(name):
    return next((number for number, (_, starts) in enumerate(LAYERS) if name.startswith(starts)), 0) if name != "." else 0


def read_entries(root):
    """Each layer's entries by name. A hard link is where the file is that it links to."""
    entries = {clean_name(entry.name): entry for entry in root.getmembers()}
    layers = [{} for _ in LAYERS]
    for name, entry in entries.items():
        number = layer_of(clean_name(entry.linkname) if entry.islnk() else name)
        layers[number][name] = entry
    for layer in layers:
        layer["."] = entries["."]
        for name in list(layer):
            while (name := os.path.dirname(name)) and name not in layer:
                layer[name] = entries[name]
    return layers


def settled(entry, name, age):
    """An entry as it is written: what is not said here is not kept."""
    new = tarfile.TarInfo(name)
    new.type = tarfile.REGTYPE if entry.isreg() else entry.type
    new.mode, new.uid, new.gid, new.size = entry.mode, entry.uid, entry.gid, entry.size
    new.linkname = clean_name(entry.linkname) if entry.islnk() else entry.linkname
    new.devmajor, new.devminor = entry.devmajor, entry.devminor
    new.mtime = min(int(entry.mtime), age)
    new.pax_headers = {key: value for key, value in entry.pax_headers.items() if key.startswith("SCHILY.xattr.")}
    return new


def links_last(item):
    """By name, but a hard link after everything that it could link to."""
    name, entry = item
    return (entry.islnk(), name)


class Layout:
    def __init__(self, folder):
        self.folder = folder
        self.blobs = os.path.join(folder, "blobs", "sha256")
        os.makedirs(self.blobs)

    def blob(self, data, kind):
        path = self.keep(data)
        return {"mediaType": kind, "digest": "sha256:" + path, "size": len(data)}

    def keep(self, data):
        digits = hashlib.sha256(data).hexdigest()
        with open(os.path.join(self.blobs, digits), "wb") as file:
            file.write(data)
        return digits

    def layer(self, number, source, entries, age):
        """Its descriptor, and the digest of what is in it."""
        path = os.path.join(self.folder, f"layer{number}")
        with open(path, "wb") as file, tarfile.open(source) as root:
            packed = Digest(file)
            with gzip.GzipFile("", "wb", 6, packed, 0) as compressed:
                plain = Digest(compressed)
                with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as tar:
                    for name, entry in sorted(entries.items(), key=links_last):
                        tar.addfile(settled(entry, name, age), root.extractfile(entry) if entry.isreg() else None)
        os.rename(path, os.path.join(self.blobs, packed.name()[7:]))
        return {"mediaType": LAYER_TYPE, "digest": packed.name(), "size": packed.size}, plain.name()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def age_of(root):
    """Every package has such a file, and nobody touches it."""
    return int(max(entry.mtime for entry in root.getmembers() if entry.isreg() and entry.name.endswith("/copyright")))


def write_image(layout, source, config, name):
    with tarfile.open(source) as root:
        age = age_of(root)
        layers = read_entries(root)
    with concurrent.futures.ProcessPoolExecutor() as pool:
        done = list(pool.map(layout.layer, range(len(layers)), [source] * len(layers), layers, [age] * len(layers)))
    created = datetime.datetime.fromtimestamp(age, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    described = layout.blob(canonical({
        "architecture": ARCHITECTURES[os.uname().machine], "os": "linux", "created": created, "config": config,
        "rootfs": {"type": "layers", "diff_ids": [diff_id for _, diff_id in done]},
        "history": [{"created": created, "created_by": f"images/base: {what}"} for what, _ in LAYERS]}).encode(), CONFIG_TYPE)
    descriptors = [descriptor for descriptor, _ in done]
    manifest = layout.blob(canonical({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": described, "layers": descriptors}).encode(),
                           MANIFEST_TYPE)
    write_indexes(layout, manifest, described, descriptors, name)
    return manifest["digest"]


def write_indexes(layout, manifest, config, layers, name):
    """For those who read OCI layouts, and for those who read what `docker save` writes."""
    names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    layout.write("oci-layout", canonical({"imageLayoutVersion": "1.0.0"}))
    layout.write("index.json", canonical({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [{**manifest, "annotations": names}]}))
    paths = ["blobs/sha256/" + each["digest"][7:] for each in [config] + layers]
    layout.write("manifest.json", canonical([{"Config": paths[0], "RepoTags": [name], "Layers": paths[1:]}]))


def main():
    source, config, name, folder = sys.argv[1:]
    with open(config) as file:
        config = json.load(file)
    print(write_image(Layout(folder), source, config, name))


if __name__ == "__main__":
    main()
