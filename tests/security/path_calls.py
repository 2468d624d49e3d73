#!/usr/bin/env python3
"""Every call that takes a path, in what runs with privilege (cove-spawn and the builder).

A path whose contents a sandbox, another user or coved can decide goes through sys/beneath.h, or is walked by sys/tree.h. All
other calls are listed here, by file, with whose path it is. A call that is not listed fails the test: use sys/beneath.h, or say
here why the path cannot be influenced.

    path_calls.py SOURCE-FOLDER
"""
import pathlib
import re
import sys

NAMES = """open openat openat2 creat fopen freopen opendir stat lstat fstatat statx statfs statvfs access faccessat chown lchown
fchownat chmod fchmodat unlink unlinkat remove rmdir rename renameat renameat2 mkdir mkdirat mknod mknodat mkfifo symlink symlinkat
link linkat readlink readlinkat truncate utimensat utimes chdir chroot mount umount2 setxattr lsetxattr getxattr lgetxattr
removexattr lremovexattr execl execlp execv execve execvp execvpe exists read_file read_file_at write_file poke poke_at
make_folders remove_tree remove_tree_at list_folder open_tree_clone attach_mount listen_unix connect_unix""".split()
CALL = re.compile(r"(?:(?<![\w>])::|\bsys::|\bstd::)(%s)\(|\b(std::filesystem|std::[io]?fstream)\b" % "|".join(NAMES))

OWN = "folders that only this process's user can write to, and files of the system's"
STAGE = "the builder's own file system in memory, and its mounts"

ALLOWED = {
    "exe/cove_spawn.cc": (OWN, "exists make_folders mkdir open read_file std::filesystem unlink"),
    "layer/folder_layer.cc": (OWN, "exists list_folder make_folders mkdir mkdirat open openat remove_tree_at"),
    "layer/make.cc": (OWN, "exists statvfs"),
    "layer/pool.cc": (OWN, "exists list_folder make_folders mkdirat open openat"),
    "layer/pool_image.cc": (OWN, "linkat openat read_file unlinkat"),
    "runtime/docker/doorway.cc": ("/proc, and without a server the caller's own folder", "open stat"),
    "runtime/docker/engine_socket.cc": ("sockets of engines, files of the system's", "read_file stat"),
    "runtime/docker/engine_walls.cc": ("as above; without a server the caller's own folder",
                                       "chmod exists list_folder listen_unix make_folders open read_file unlink"),
    "runtime/docker/own_containers.cc": (OWN, "open read_file"),
    "runtime/native/builder.cc": ("/dev/null", "open"),
    "runtime/native/builder_crew.cc": (STAGE, "attach_mount mkdirat open open_tree_clone"),
    "runtime/native/group_view.cc": ("a descriptor, without a path", "open_tree_clone"),
    "runtime/native/host_runs.cc": ("Cove's programs; else in a child that has become the caller",
                                    "chdir execvpe open read_file"),
    "runtime/native/ids.cc": (OWN, "access make_folders open read_file statfs"),
    "runtime/native/image_shelf.cc": (OWN, "exists list_folder lstat make_folders mkdir open read_file remove_tree rename write_file"),
    "runtime/native/limit_views.cc": (STAGE, "attach_mount mkdirat open_tree_clone write_file"),
    "runtime/native/linked_worktree.cc": ("in a child that has become the caller; what is found must name the workspace in turn",
                                          "open openat readlink"),
    "runtime/native/local_hand.cc": (OWN, "unlink"),
    "runtime/native/memory_watch.cc": ("file systems that the builder mounted", "list_folder read_file statfs"),
    "runtime/native/own_folders.cc": ("Cove's own folders, where they are mounted, '..' of an opened one, /proc",
                                      "open openat read_file readlink"),
    "runtime/native/process_one.cc": ("/proc, cove-init", "attach_mount open open_tree_clone"),
    "runtime/native/root_mounts.cc": (STAGE + "; what comes from the host; without a server the caller's own folder",
                                      "attach_mount fchownat mkdir mkdirat open open_tree_clone"),
    "runtime/native/spawn_server.cc": ("a descriptor, without a path", "open_tree_clone"),
    "runtime/native/spawn_workspaces.cc": ("in a child that has become the caller, or below configured folders",
                                           "faccessat open openat2"),
    "runtime/native/unpacking.cc": (STAGE + "; Cove's own folders", "attach_mount fchownat mkdir open open_tree_clone"),
    "runtime/native/user_scope.cc": ("/proc, the user's own run folder", "exists read_file"),
    "runtime/native/user_share.cc": ("/proc/sys/user", "poke_at read_file"),
    "runtime/native/walls.cc": (OWN, "exists list_folder listen_unix make_folders open read_file readlink stat unlink"),
    "runtime/native/who.cc": (OWN, "connect_unix"),
    "runtime/oci/builder.cc": ("/proc, /dev/null, " + STAGE, "open read_file"),
    "runtime/oci/groups.cc": ("control groups", "attach_mount list_folder mkdir open_tree_clone read_file rmdir umount2"),
    "runtime/oci/invocation.cc": (STAGE + "; the runtime's program", "attach_mount execve mkdir write_file"),
    "runtime/oci/kernel.cc": (STAGE + "; Cove's programs", "attach_mount mkdir mount open open_tree_clone write_file"),
}


def calls_in(path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return {match.group(1) or "std::" + match.group(2).split("::")[-1] for match in CALL.finditer(text)}


def main(source):
    files = [source / "exe/cove_spawn.cc", *(source / "runtime").rglob("*.cc"), *(source / "layer").rglob("*.cc"),
             *(source / "runtime").rglob("*.h"), *(source / "layer").rglob("*.h")]
    wrong = []
    count = 0
    for path in sorted(files):
        if path.name.endswith(("_test.cc", "_testing.h")):
            continue
        name = str(path.relative_to(source))
        count += 1
        for call in sorted(calls_in(path) - set(ALLOWED.get(name, ("", ""))[1].split())):
            wrong.append(f"src/{name}: {call}() takes a path: use sys/beneath.h, or list it in {__file__} with the reason")
    print("\n".join(wrong) or f"{count} files, no other calls")
    return 1 if wrong else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
