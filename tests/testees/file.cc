// Attempts on files of the host, on the image under the sandbox, and on what lies outside its view.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

Outcome make_node(mode_t type, unsigned major_number, unsigned minor_number) {
  return call(::mknod("/tmp/node", type | 0666, makedev(major_number, minor_number)));
}

// Nothing but the three standard streams is open (and the listing itself).
Outcome leaked_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return denied();
  while (dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] == '.') continue;
    int fd = std::atoi(entry->d_name);
    if (fd > 2 && fd != ::dirfd(folder)) return done("a descriptor");
  }
  return held("only 0, 1 and 2");
}

// The standard streams lead to pipes of the sandbox, never to the caller's own files.
Outcome callers_streams() {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat info;
    if (::fstat(fd, &info) < 0) return denied();
    if (!S_ISFIFO(info.st_mode)) return done("not a pipe");
  }
  return held("pipes");
}

Outcome leaked_folder() {
  char path[4096];
  if (!::getcwd(path, sizeof path)) return denied();
  if (std::strncmp(path, "(unreachable)", 13) == 0 || std::strcmp(path, setting("HOST_FOLDER")) == 0) return done(path);
  return held("a folder of the sandbox");
}

// A folder that holds nothing of the host's: what the image puts there, or nothing.
Outcome look_for(const char* folder, const char* name) {
  char path[4096];
  std::snprintf(path, sizeof path, "%s/%s", folder, name);
  return read_from(path);
}

Outcome other_homes() {
  DIR* folder = ::opendir("/home");
  if (!folder) return denied();
  while (dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.' && std::strcmp(entry->d_name, "user") != 0) return done(entry->d_name);
  return held("only its own");
}

Outcome shadow() {
  char text[4096] = "";
  int fd = ::open("/etc/shadow", O_RDONLY);
  if (fd < 0) return denied();
  ssize_t size = ::read(fd, text, sizeof text - 1);
  // A generated one has no password in it.
  return size > 0 && std::strchr(text, '$') ? done() : held("no passwords");
}

// Changing a program of the image is allowed, and changes the sandbox's copy only (the test looks at the host's).
Outcome overwrite_program() {
  int fd = ::open("/usr/bin/yes", O_WRONLY | O_TRUNC);
  if (fd < 0) return denied();
  if (::write(fd, kMark, 11) != 11) return denied();
  return held("the sandbox's copy");
}

Outcome remove_program() { return ::unlink("/usr/bin/yes") < 0 ? denied() : held("the sandbox's copy"); }

Outcome add_program() {
  int fd = ::open("/usr/local/bin/cove-testee", O_WRONLY | O_CREAT, 0755);
  return fd < 0 ? denied() : held("the sandbox's copy");
}

// Attributes by which an overlay is told where to look: from inside they must mean nothing.
Outcome redirect(const char* attribute) {
  ::mkdir("/tmp/redirected", 0755);
  if (::setxattr("/tmp/redirected", attribute, "/../../etc", 10, 0) < 0) return denied();
  struct stat info;
  return ::stat("/tmp/redirected/passwd", &info) == 0 ? done() : held("it means nothing");
}

Outcome link_to(const char* target) {
  ::unlink("/tmp/link");
  if (::symlink(target, "/tmp/link") < 0) return denied();
  return read_from("/tmp/link");
}

Outcome hard_link() { return call(::link(setting("HOST_FILE_OPT"), "/tmp/hard")); }

// In the sandbox's own view it may get another name, but not another owner.
Outcome rename_and_read() {
  const char* path = setting("HOST_FILE_OPT");
  if (::rename(path, "/opt/renamed") < 0) return denied();
  Outcome outcome = read_from("/opt/renamed");
  if (::chmod("/opt/renamed", 0666) == 0 || ::chown("/opt/renamed", 0, 0) == 0) outcome = read_from("/opt/renamed");
  ::rename("/opt/renamed", path);
  return outcome;
}

Outcome change_mode(const char* path) { return call(::chmod(path, 0666)); }

Outcome fill_shared_memory() {
  int fd = ::open("/dev/shm/fill", O_RDWR | O_CREAT, 0600);
  if (fd < 0) return denied();
  constexpr off_t kTerabyte = off_t{1} << 40;
  return call(::posix_fallocate(fd, 0, kTerabyte) == 0 ? 0 : (errno = ENOSPC, -1));
}

constexpr Attempt kAttempts[] = {
    {"make_memory_device", [] { return make_node(S_IFCHR, 1, 1); }},
    {"make_disk_device", [] { return make_node(S_IFBLK, 8, 0); }},
    {"make_null_device", [] { return make_node(S_IFCHR, 1, 3); }},
    {"make_whiteout", [] { return make_node(S_IFCHR, 0, 0); }},
    {"leaked_descriptors", leaked_descriptors},
    {"callers_streams", callers_streams},
    {"leaked_folder", leaked_folder},
    {"host_file_in_opt", [] { return read_from(setting("HOST_FILE_OPT")); }},
    {"host_file_in_usr_local", [] { return read_from(setting("HOST_FILE_LOCAL")); }},
    {"host_file_in_closed_folder", [] { return read_from(setting("HOST_FILE_CLOSED")); }},
    {"host_file_by_link", [] { return link_to(setting("HOST_FILE_OPT")); }},
    {"host_file_by_hard_link", hard_link},
    {"host_file_chmod", [] { return change_mode(setting("HOST_FILE_OPT")); }},
    {"host_file_by_rename", rename_and_read},
    {"host_file_write", [] { return write_to(setting("HOST_FILE_OPT"), kMark); }},
    {"host_home", [] { return read_from(setting("HOST_FILE_HOME")); }},
    {"host_tmp", [] { return read_from(setting("HOST_FILE_TMP")); }},
    {"host_shared_memory", [] { return read_from(setting("HOST_FILE_SHM")); }},
    {"other_homes", other_homes},
    {"root_home", [] { return look_for("/root", ".ssh/authorized_keys"); }},
    {"shadow", shadow},
    {"gshadow", [] { return read_from("/etc/gshadow"); }},
    {"machine_id", [] { return read_from("/var/lib/dbus/machine-id"); }},
    {"ssh_host_key", [] { return read_from("/etc/ssh/ssh_host_ed25519_key"); }},
    {"sudoers", [] { return read_from("/etc/sudoers"); }},
    {"ssl_private_keys", [] { return read_from("/etc/ssl/private/ssl-cert-snakeoil.key"); }},
    {"docker_socket", [] { return read_from("/run/docker.sock"); }},
    {"systemd_socket", [] { return read_from("/run/systemd/private"); }},
    {"boot", [] { return read_from("/boot/grub/grub.cfg"); }},
    {"cove_cache", [] { return read_from("/var/cache/cove/host/.lock"); }},
    {"cove_run_folder", [] { return read_from("/run/cove/ids"); }},
    {"overwrite_program", overwrite_program},
    {"remove_program", remove_program},
    {"add_program", add_program},
    {"trusted_redirect", [] { return redirect("trusted.overlay.redirect"); }},
    {"user_redirect", [] { return redirect("user.overlay.redirect"); }},
    {"fill_shared_memory", fill_shared_memory},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
