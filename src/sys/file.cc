#include "sys/file.h"

#include <dirent.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/text.h"
#include "sys/tree.h"

namespace cove::sys {
namespace {

Result<UniqueFd> checked_fd(int fd, std::string_view call, const std::string& path) {
  if (fd < 0) return fail_errno(concat(call, " ", path));
  return UniqueFd(fd);
}

Result<void> checked(int status, std::string_view call, const std::string& path) {
  if (status < 0) return fail_errno(concat(call, " ", path));
  return {};
}

}  // namespace

Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) { return openat(AT_FDCWD, path, flags, mode); }

Result<UniqueFd> openat(int folder, const std::string& path, int flags, mode_t mode) {
  return checked_fd(::openat(folder, path.c_str(), flags | O_CLOEXEC, mode), "open", path);
}

Result<UniqueFd> openat2(int folder, const std::string& path, int flags, uint64_t resolve, mode_t mode) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = resolve;
  long fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  return checked_fd(static_cast<int>(fd), "open", path);
}

Result<UniqueFd> dup(int fd) { return checked_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3), "dup", fd_path(fd)); }

Result<std::string> read_all(int fd, size_t most) {
  std::string data;
  char buffer[16384];
  while (data.size() < most) {
    ssize_t count = ::read(fd, buffer, std::min(sizeof buffer, most - data.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("read ", fd_path(fd)));
    if (count == 0) break;
    data.append(buffer, static_cast<size_t>(count));
  }
  return data;
}

Result<std::string> read_file(const std::string& path, size_t most) { return read_file_at(AT_FDCWD, path, most); }

Result<std::string> read_file_at(int folder, const std::string& path, size_t most) {
  UniqueFd fd = COVE_TRY(openat(folder, path, O_RDONLY));
  return COVE_TRY_NOTE(concat("read ", path), read_all(fd.get(), most));
}

Result<void> write_all(int fd, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(concat("write ", fd_path(fd)));
    data.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<void> poke(const std::string& path, std::string_view data) { return poke_at(AT_FDCWD, path, data); }

Result<void> poke_at(int folder, const std::string& path, std::string_view data) {
  UniqueFd fd = COVE_TRY(openat(folder, path, O_WRONLY));
  if (::write(fd.get(), data.data(), data.size()) < 0) return fail_errno(concat("write '", data, "' to ", path));
  return {};
}

Result<void> write_file(const std::string& path, std::string_view data, mode_t mode) {
  UniqueFd fd = COVE_TRY(open(path, O_WRONLY | O_CREAT | O_TRUNC, mode));
  COVE_TRY_NOTE(concat("write ", path), write_all(fd.get(), data));
  return {};
}

Result<void> mkdir(const std::string& path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

Result<void> mkdirat(int folder, const std::string& path, mode_t mode) {
  return checked(::mkdirat(folder, path.c_str(), mode), "mkdir", path);
}

Result<void> make_folders(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), mode) < 0 && errno != EEXIST) return fail_errno(concat("mkdir ", part));
    if (end == std::string::npos) return {};
  }
}

Result<void> remove_tree(const std::string& path) { return remove_tree_at(AT_FDCWD, path); }

Result<void> remove_tree_at(int folder, const std::string& name) {
  struct stat info;
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) < 0) return fail_errno(concat("stat ", name));
  if (!S_ISDIR(info.st_mode)) return checked(::unlinkat(folder, name.c_str(), 0), "unlink", name);
  UniqueFd top = COVE_TRY(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  auto unlink = [](int parent, const std::string& child, const struct stat& found) {
    return checked(::unlinkat(parent, child.c_str(), S_ISDIR(found.st_mode) ? AT_REMOVEDIR : 0), "unlink", child);
  };
  COVE_TRY_NOTE(concat("remove ", name), walk_tree(std::move(top), ClosedFolders::Open, unlink));
  return checked(::unlinkat(folder, name.c_str(), AT_REMOVEDIR), "rmdir", name);
}

Result<void> rename(const std::string& from, const std::string& to) {
  return checked(::rename(from.c_str(), to.c_str()), "rename", concat(from, " to ", to));
}

Result<void> symlink(const std::string& target, const std::string& path) {
  return checked(::symlink(target.c_str(), path.c_str()), "symlink", path);
}

Result<std::string> readlink(const std::string& path) {
  std::string target(4096, '\0');
  ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return fail_errno(concat("readlink ", path));
  target.resize(static_cast<size_t>(size));
  return target;
}

Result<std::vector<std::string>> list_folder(const std::string& path) {
  UniqueFd folder = COVE_TRY(open(path, O_RDONLY | O_DIRECTORY));
  return COVE_TRY_NOTE(concat("list ", path), list_folder(folder.get()));
}

Result<std::vector<std::string>> list_folder(int folder) {
  UniqueFd own = COVE_TRY(openat(folder, ".", O_RDONLY | O_DIRECTORY));
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return fail_errno(concat("list ", fd_path(folder)));
  static_cast<void>(own.release());
  std::vector<std::string> names;
  while (dirent* entry = ::readdir(stream.get())) {
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<struct stat> stat(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) < 0) return fail_errno(concat("stat ", path));
  return info;
}

Result<struct stat> lstat(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) < 0) return fail_errno(concat("stat ", path));
  return info;
}

Result<struct stat> fstat(int fd) {
  struct stat info;
  if (::fstat(fd, &info) < 0) return fail_errno(concat("stat ", fd_path(fd)));
  return info;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<void> set_nonblocking(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  return checked(flags < 0 ? flags : ::fcntl(fd, F_SETFL, flags | O_NONBLOCK), "fcntl", fd_path(fd));
}

Result<Pipe> pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string fd_path(int fd) { return concat("/proc/self/fd/", fd); }

}  // namespace cove::sys
