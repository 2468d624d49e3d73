"""Two trees of files, compared in all that a program could see: names, kinds, modes, owners, times, links, attributes, content."""

import hashlib
import os
import stat
import subprocess
import tempfile


def describe(root):
    """Of each path below it, what it is like. Hard links are named by the first of their names."""
    found, inodes = {}, {}
    root = os.fsencode(root)
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files) + ([b"."] if folder == root else []):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            found[relative] = describe_one(path, relative, inodes)
    return found


def describe_one(path, relative, inodes):
    info = os.lstat(path)
    kind = stat.S_IFMT(info.st_mode)
    about = {"kind": oct(kind), "mode": oct(info.st_mode & 0o7777), "uid": info.st_uid, "gid": info.st_gid, "mtime": info.st_mtime_ns}
    if relative == b".":
        del about["mtime"]  # few layers describe it, and each sandbox has a root of its own
    if stat.S_ISLNK(info.st_mode):
        about["link"] = os.readlink(path)
        return about
    about["xattrs"] = {name: os.getxattr(path, name, follow_symlinks=False)
                       for name in os.listxattr(path, follow_symlinks=False) if ".overlay." not in name}
    if stat.S_ISREG(info.st_mode):
        about["size"] = info.st_size
        with open(path, "rb") as file:
            about["content"] = hashlib.sha256(file.read()).hexdigest()
        about["same as"] = inodes.setdefault((info.st_dev, info.st_ino), relative) if info.st_nlink > 1 else None
    return about


def differences(ours, theirs):
    lines = []
    for path in sorted(set(ours) | set(theirs)):
        if path not in ours or path not in theirs:
            lines.append(f"{path!r} is only in {'ours' if path in ours else 'theirs'}")
            continue
        for what in sorted(set(ours[path]) | set(theirs[path])):
            if ours[path].get(what) != theirs[path].get(what):
                lines.append(f"{path!r}: {what} is {ours[path].get(what)!r}, theirs {theirs[path].get(what)!r}")
    return lines


class Mounted:
    """The layers of an image of a server, as overlayfs shows them."""

    def __init__(self, state, digest):
        images = os.path.join(state, "images")
        with open(os.path.join(images, "roots", digest.split(":")[1], "layers")) as file:
            keys = [line for line in file.read().split("\n") if line]
        self.folders = [os.path.join(images, "layers", key, "fs") for key in keys]

    def __enter__(self):
        self.place = tempfile.mkdtemp(prefix="cove-images-view-")
        # Short names: the kernel takes one page of options.
        self.links = tempfile.mkdtemp(prefix="cove-il-")
        for number, folder in enumerate(self.folders):
            os.symlink(folder, f"{self.links}/{number}")
        if len(self.folders) == 1:
            words = ["mount", "--bind", self.folders[0], self.place]
        else:
            lowers = ":".join(f"{self.links}/{number}" for number in range(len(self.folders)))
            words = ["mount", "-t", "overlay", "overlay", "-o", f"ro,lowerdir={lowers}", self.place]
        subprocess.run(words, check=True)
        return self.place

    def __exit__(self, *_):
        subprocess.run(["umount", self.place], check=True)
        os.rmdir(self.place)
        for name in os.listdir(self.links):
            os.unlink(f"{self.links}/{name}")
        os.rmdir(self.links)


def umoci_unpack(layout, name, folder):
    subprocess.run(["umoci", "unpack", "--image", f"{layout}:{name}", folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.join(folder, "rootfs")
