"""What tools fetch from the world's web server: packages of pip, npm, apt and Go, and a git repository, in FOLDER/www."""

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile

NAME = "covedemo"


def run(*words, cwd=None):
    subprocess.run(words, check=True, capture_output=True, cwd=cwd, env={**os.environ, **GIT})


GIT = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "World"), ("EMAIL", "world@example.org"))}


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def make(folder):
    www = folder + "/www"
    make_wheel(www)
    make_npm(www)
    make_apt(www, folder)
    make_go(www)
    make_git(www)
    for path, folders, files in os.walk(www):
        for each in folders + files:
            os.chmod(os.path.join(path, each), 0o755)


def make_wheel(www):
    archive = io.BytesIO()
    info = f"{NAME}-1.0.dist-info"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr(f"{NAME}.py", "VALUE = 42\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: world\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", f"{NAME}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    file = f"{NAME}-1.0-py3-none-any.whl"
    write(f"{www}/simple/{NAME}/{file}", archive.getvalue())
    write(f"{www}/simple/{NAME}/index.html", f'<!DOCTYPE html><html><body><a href="{file}">{file}</a></body></html>')


def tar_of(files):
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return archive.getvalue()


def make_npm(www):
    manifest = {"name": NAME, "version": "1.0.0", "main": "index.js"}
    data = tar_of({"package/package.json": json.dumps(manifest), "package/index.js": "module.exports = 42\n"})
    write(f"{www}/npm/{NAME}/-/{NAME}-1.0.0.tgz", data)
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    dist = {"tarball": f"https://web.example.org/npm/{NAME}/-/{NAME}-1.0.0.tgz", "integrity": integrity,
            "shasum": hashlib.sha1(data).hexdigest()}
    write(f"{www}/npm/{NAME}/index.html", json.dumps({"name": NAME, "dist-tags": {"latest": "1.0.0"},
                                                      "versions": {"1.0.0": {**manifest, "dist": dist}}}))


def make_apt(www, folder):
    root = folder + "/deb"
    write(root + "/DEBIAN/control", f"Package: {NAME}\nVersion: 1.0\nArchitecture: all\nMaintainer: World <world@example.org>\n"
          "Description: demo\n")
    write(root + f"/usr/share/{NAME}/value", "42\n")
    os.makedirs(www + "/apt")
    run("dpkg-deb", "--build", root, f"{www}/apt/{NAME}_1.0_all.deb")
    with open(f"{www}/apt/{NAME}_1.0_all.deb", "rb") as file:
        data = file.read()
    write(www + "/apt/Packages", f"Package: {NAME}\nVersion: 1.0\nArchitecture: all\nMaintainer: World <world@example.org>\n"
          f"Filename: ./{NAME}_1.0_all.deb\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\nDescription: demo\n")


def make_go(www):
    module = "web.example.org/" + NAME
    versions = f"{www}/go/{module}/@v"
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as module_zip:
        module_zip.writestr(f"{module}@v1.0.0/go.mod", f"module {module}\n")
        module_zip.writestr(f"{module}@v1.0.0/demo.go", f"package {NAME}\n\nconst Value = 42\n")
    write(versions + "/list", "v1.0.0\n")
    write(versions + "/v1.0.0.info", json.dumps({"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}))
    write(versions + "/v1.0.0.mod", f"module {module}\n")
    write(versions + "/v1.0.0.zip", archive.getvalue())


def make_git(www):
    """A repository that is also a crate of Rust's."""
    work = www + "/../work"
    write(work + "/Cargo.toml", f'[package]\nname = "{NAME}"\nversion = "1.0.0"\nedition = "2021"\n')
    write(work + "/src/lib.rs", "pub const VALUE: i32 = 42;\n")
    run("git", "init", "-q", "-b", "main", work)
    run("git", "add", ".", cwd=work)
    run("git", "commit", "-q", "-m", "first", cwd=work)
    run("git", "clone", "-q", "--bare", work, f"{www}/git/{NAME}.git")
    run("git", "config", "http.receivepack", "true", cwd=f"{www}/git/{NAME}.git")
