#!/usr/bin/env python3
"""Every call that takes a path, in what runs with privilege or on paths that others can influence.

A path whose contents a sandbox, another user or coved can decide goes through sys/beneath.h, or is walked by sys/tree.h. All
other calls are listed here, by file and with their number, and with whose path it is. A call that is not listed fails the test,
also one more of a kind that is: use sys/beneath.h, or say here why the path cannot be influenced.

    path_calls.py SOURCE-FOLDER           checks
    path_calls.py SOURCE-FOLDER FILE…     prints the entries of these files as they are now
"""
import collections
import pathlib
import re
import sys

NAMES = """open openat openat2 creat fopen freopen opendir stat lstat fstatat statx statfs statvfs access faccessat chown lchown
fchownat chmod fchmodat unlink unlinkat remove rmdir rename renameat renameat2 mkdir mkdirat mknod mknodat mkfifo symlink symlinkat
link linkat readlink readlinkat truncate utimensat utimes chdir chroot mount umount2 setxattr lsetxattr getxattr lgetxattr
removexattr lremovexattr execl execlp execv execve execveat execvp execvpe posix_spawn posix_spawnp bind connect nftw glob realpath
exists read_file read_file_at write_file poke poke_at make_folders remove_tree remove_tree_at list_folder open_tree_clone
attach_mount listen_unix connect_unix make_run_folder""".split()
RAW = "open openat openat2 execve execveat mount move_mount open_tree statx renameat2 mknodat faccessat2 fchmodat2".split()
CALL = re.compile(r"(?:(?<![\w>])::|\bsys::|\bstd::)(%s)\(|\b(std::filesystem|std::[io]?fstream)\b|\b(SYS_(?:%s))\b"
                  % ("|".join(NAMES), "|".join(RAW)))

# What runs with privilege, or as root of a sandbox, or on files of others. Of image/ only what cove-spawn is made of.
SCOPE = """exe/cove_host.cc exe/cove_init.cc exe/cove_record.cc exe/cove_spawn.cc exe/cove_unpack.cc host/harmless_paths.cc
host/host_run.cc net/namespace.cc runtime spawn layer change unpack init sys/ids.cc image/catalogue.cc image/etc_copy.cc image/etc_generate.cc image/fingerprint.cc
image/host_cache.cc image/host_image.cc image/image_top.cc image/local_layer_store.cc image/manifest.cc image/public_address.cc image/reference.cc
image/skeleton.cc image/tree_writer.cc image/unpacker.cc""".split()

OWN = "folders that only this process's user can write to, and files of the system's"
STAGE = "the builder's own file system in memory, and its mounts"
HOST = "what root has on the host, to be shown or copied"
IMAGE = "a new image in Cove's cache, which only this process's user can write to"
INSIDE = "process 1 and what it starts: its root is the sandbox's, and it has power over nothing else"
AS_CALLER = "in a process that has become the caller and only reads; below an opened folder, or Cove's own descriptors"
UNPACK = "cove-unpack: its root is the layer's folder, it has power over nothing else, and walks below descriptors"

ALLOWED = {
    "change/base_file.cc": (OWN, "mkdirat openat*3 read_file_at*2 renameat"),
    "change/base_stream.cc": (OWN, "mkdirat openat*2"),
    "change/tree_scan.cc": ("below an opened folder, without links", "list_folder openat2 readlinkat statx"),
    "host/harmless_paths.cc": (AS_CALLER, "open openat2*2 read_file readlink stat"),
    "host/host_run.cc": (AS_CALLER, "execve open*2 openat2 readlink"),
    "exe/cove_host.cc": (AS_CALLER, "readlink"),
    "exe/cove_init.cc": (INSIDE, "chdir"),
    "exe/cove_spawn.cc": (OWN,
                          "SYS_execveat bind connect exists*2 make_folders*2 make_run_folder mkdir open*2 read_file "
                          "std::filesystem unlink"),
    "exe/cove_unpack.cc": (UNPACK, "chdir open*2"),
    "image/catalogue.cc": (OWN, "open*3 rename"),
    "image/etc_copy.cc": (HOST + "; " + IMAGE, "list_folder*2 lstat*2 read_file readlink"),
    "image/etc_generate.cc": (IMAGE, "exists"),
    "image/fingerprint.cc": (HOST, "lstat"),
    "image/host_cache.cc": (OWN, "list_folder*3 lstat*2 open*2 read_file*2 remove_tree*2 rename"),
    "image/host_image.cc": (OWN,
                            "chmod exists*2 list_folder lstat*2 make_folders mkdir*2 open read_file rename statvfs utimensat"),
    "image/image_top.cc": (IMAGE, "chmod*4 exists lchown mkdir*3 utimensat write_file"),
    "image/skeleton.cc": (HOST + "; " + IMAGE, "chmod list_folder*3 lstat*2 mknod read_file*4 readlink*2 rename stat*2"),
    "image/tree_writer.cc": (IMAGE, "chmod exists*2 lchown mkdir symlink write_file"),
    "init/begin.cc": (INSIDE, "chdir open"),
    "init/handoff.cc": (INSIDE, "chown connect_unix mkdir*2 open"),
    "init/ending.cc": (INSIDE, "unlink"),
    "init/exec_child.cc": (INSIDE, "access chdir*3 execvp mount open*3 readlink*2"),
    "init/fences.cc": (INSIDE, "open"),
    "init/figures.cc": (INSIDE, "fstatat open openat rmdir unlinkat*2"),
    "init/inner.cc": (INSIDE, "SYS_statx"),
    "init/inner_groups.cc": (INSIDE, "mkdirat*2 mount open*3 openat*5 opendir umount2 unlinkat"),
    "init/descendants.cc": (INSIDE, "opendir"),
    "init/passwd.cc": (INSIDE, "open"),
    "init/own_network.cc": (INSIDE, "listen_unix open*2"),
    "init/ports.cc": (INSIDE, "fopen opendir*2 readlink"),
    "init/process_files.h": (INSIDE, "open"),
    "init/stat_shim.cc": (INSIDE, "SYS_statx"),
    "init/sudo_client.cc": (INSIDE, "connect_unix open"),
    "init/sudo_server.cc": (INSIDE, "listen_unix open"),
    "init/supervisor.cc": (INSIDE, "connect open*2 statfs"),
    "init/view.cc": (INSIDE,
                     "chdir*3 chmod fstatat*2 glob lstat mkdir*2 nftw open opendir readlink remove*2 rename renameat2 symlink "
                     "unlink*2"),
    "init/waiting.cc": (INSIDE, "lchown mkfifo open*2 unlink"),
    "layer/folder_layer.cc": (OWN, "exists list_folder*2 make_folders mkdir mkdirat open*2 openat remove_tree_at*2"),
    "layer/make.cc": (OWN, "exists statvfs"),
    "layer/pool.cc": (OWN, "exists list_folder*3 make_folders mkdirat open openat*3"),
    "layer/pool_image.cc": (OWN, "linkat openat*2 posix_spawn read_file unlinkat"),
    "net/namespace.cc": (OWN + "; ports", "bind poke read_file"),
    "runtime/docker/handoff.cc": ("/proc, and without a server the caller's own folder", "open stat"),
    "runtime/docker/engine_socket.cc": ("sockets of engines, files of the system's", "read_file stat"),
    "runtime/docker/engine_factory.cc": ("sockets of engines, Cove's own folders; without a server the caller's own folder",
                                       "chmod exists list_folder listen_unix*2 open read_file*2 unlink*5"),
    "runtime/docker/own_containers.cc": (OWN, "open read_file"),
    "runtime/fake/fake_program.cc": ("files in memory, by their descriptors in /proc/self/fd; in tests only", "read_file"),
    "runtime/fake/fake_view.cc": ("files in memory, by their descriptors in /proc/self/fd; in tests only", "open"),
    "runtime/native/builder.cc": ("/dev/null", "open"),
    "runtime/native/builder_pool.cc": (STAGE, "attach_mount*2 mkdirat open*3 open_tree_clone"),
    "runtime/native/group_view.cc": ("a descriptor, without a path", "open_tree_clone"),
    "spawn/host_runs.cc": ("Cove's programs; else in a child that has become the caller",
                                    "SYS_execveat*2 chdir execvpe open*6 read_file"),
    "sys/ids.cc": (OWN, "access*2 make_run_folder open*2 posix_spawnp read_file*2 statfs"),
    "image/local_layer_store.cc": (OWN,
                                      "exists*6 list_folder*3 lstat make_folders mkdir*5 open*7 read_file*3 remove_tree "
                                      "rename*4 write_file*2"),
    "runtime/native/limit_views.cc": (STAGE, "attach_mount*2 mkdirat*4 open_tree_clone write_file"),
    "runtime/native/linked_worktree.cc": ("in a child that has become the caller; what is found must name the workspace in turn",
                                        "openat*3 readlink"),
    "runtime/native/local_resources.cc": (OWN, "unlink*2"),
    "runtime/native/memory_watch.cc": ("file systems that the builder mounted", "list_folder read_file statfs"),
    "runtime/native/network.cc": ("this process's own /proc", "open stat"),
    "runtime/native/own_folders.cc": ("Cove's own folders, where they are mounted, '..' of an opened one, /proc",
                                      "open*2 openat read_file*2 readlink"),
    "runtime/native/process_one.cc": ("/proc, cove-init", "SYS_execveat attach_mount open*3 open_tree_clone"),
    "runtime/native/root_mounts.cc": (STAGE + "; what comes from the host; without a server the caller's own folder",
                                      "attach_mount*9 fchownat mkdir*5 mkdirat*2 open open_tree_clone*10"),
    "spawn/networks.cc": ("Cove's programs; the host's root", "SYS_execveat chdir open*2"),
    "spawn/server.cc": ("a descriptor, without a path", "open_tree_clone*2"),
    "spawn/service_users.cc": (OWN, "read_file"),
    "spawn/workspaces.cc": ("in a child that has become the caller, or below configured folders",
                                        "faccessat open*2 openat2"),
    "image/unpacker.cc": (STAGE + "; Cove's own folders",
                                    "SYS_execveat attach_mount*3 fchownat mkdir*2 open*5 open_tree_clone*2"),
    "runtime/native/user_scope.cc": ("/proc, the user's own run folder", "exists posix_spawnp read_file"),
    "runtime/native/user_share.cc": ("/proc/sys/user", "poke_at read_file"),
    "runtime/native/sandbox_factory.cc": (OWN,
                                "exists*3 list_folder listen_unix make_folders make_run_folder open read_file readlink stat "
                                "unlink*2"),
    "runtime/native/process_one_identity.cc": (OWN, "connect_unix"),
    "runtime/oci/builder.cc": ("/proc, /dev/null, " + STAGE, "open*2 read_file"),
    "runtime/oci/groups.cc": ("control groups", "attach_mount*2 list_folder mkdir open_tree_clone read_file*2 rmdir umount2"),
    "runtime/oci/invocation.cc": (STAGE + "; the runtime's program", "attach_mount execve mkdir write_file"),
    "runtime/oci/kernel.cc": (STAGE + "; Cove's programs; /proc", "attach_mount*2 mkdir*4 mount*3 open open_tree_clone*2 write_file"),
    "unpack/layer_writer.cc": (UNPACK,
                               "fchmodat*3 fchownat*2 fstatat linkat*2 list_folder mkdirat*2 mknodat openat*5 openat2*8 "
                               "remove_tree_at symlinkat unlinkat utimensat"),
    "unpack/tree_digest.cc": (UNPACK, "fstatat list_folder openat readlinkat"),
}


def calls_in(path):
    text = re.sub(r"//[^\n]*", "", path.read_text())
    names = (match.group(1) or match.group(3) or "std::" + match.group(2).split("::")[-1] for match in CALL.finditer(text))
    return collections.Counter(names)


# "open*2 stat" is two calls of open and one of stat.
def parse(text):
    words = (word.partition("*") for word in text.split())
    return {name: int(count or 1) for name, _, count in words}


def show(calls):
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in sorted(calls.items()))


def files_of(source):
    for name in SCOPE:
        place = source / name
        found = [place] if place.is_file() else [*place.rglob("*.cc"), *place.rglob("*.h")]
        if not found:
            sys.exit(f"{place} is gone: correct SCOPE in {__file__}")
        # Generates the filters when Cove is built.
        yield from (path for path in found if not path.name.endswith(("_test.cc", "testing.h")) and path.parent.name != "seccomp")


def main(source):
    wrong = []
    files = {str(path.relative_to(source)): calls_in(path) for path in sorted(files_of(source))}
    for name in ALLOWED.keys() - files.keys():
        wrong.append(f"src/{name} is listed in {__file__}, and gone")
    for name, calls in files.items():
        allowed = parse(ALLOWED.get(name, ("", ""))[1])
        for call in sorted(calls.keys() | allowed.keys()):
            if calls[call] > allowed.get(call, 0):
                wrong.append(f"src/{name}: {calls[call]} of {call}() take a path, {allowed.get(call, 0)} are listed: "
                             f"use sys/beneath.h, or list it in {__file__} with the reason")
            elif calls[call] < allowed.get(call, 0):
                wrong.append(f"src/{name}: {calls[call]} of {call}() are left: correct the number in {__file__}")
    print("\n".join(wrong) or f"{len(files)} files, no other calls")
    return 1 if wrong else 0


if len(sys.argv) > 2:
    for each in sys.argv[2:]:
        print(f'"{each}": "{show(calls_in(pathlib.Path(sys.argv[1]) / each))}"')
    sys.exit(0)
sys.exit(main(pathlib.Path(sys.argv[1])))
