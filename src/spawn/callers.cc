#include "spawn/callers.h"

#include <grp.h>
#include <linux/un.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/file.h"

namespace cove::spawn {
namespace {

constexpr uid_t kNobody = static_cast<uid_t>(-1);
constexpr size_t kMostGroups = 65536;  // the kernel's NGROUPS_MAX

Result<int> number_of(int socket, int option) {
  int number = 0;
  socklen_t size = sizeof number;
  if (::getsockopt(socket, SOL_SOCKET, option, &number, &size) < 0) return fail_errno("identify the caller");
  return number;
}

// The file that a Unix socket is bound to, even if its path has been replaced.
Result<UniqueFd> file_of(int socket) {
  UniqueFd file(::ioctl(socket, SIOCUNIXFILE));
  if (!file) return fail_errno("open the file of a Unix socket");
  return file;
}

Result<bool> is_same_file(int one, int other) {
  struct stat first = COVE_TRY(sys::fstat(one));
  struct stat second = COVE_TRY(sys::fstat(other));
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

Result<std::vector<gid_t>> groups_at(int connection) {
  std::vector<gid_t> groups(64);
  while (true) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const bool known = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0;
    if (!known && (errno != ERANGE || groups.size() >= kMostGroups)) return fail_errno("get the caller's groups");
    groups.resize(known ? size / sizeof(gid_t) : groups.size() * 2);
    if (known) return groups;
  }
}

}  // namespace

Result<void> assume_identity(const UserCredentials& user) {
  if (::geteuid() != 0) return {};
  if (::setgroups(user.groups.size(), user.groups.data()) < 0) return fail_errno("assume the caller's groups");
  if (::setresgid(user.gid, user.gid, user.gid) < 0) return fail_errno("assume the caller's group");
  if (::setresuid(user.uid, user.uid, user.uid) < 0) return fail_errno("assume the caller's identity");
  return {};
}

Result<Callers> Callers::of(const std::vector<int>& listeners) {
  Callers callers;
  if (::geteuid() != 0) return callers;
  for (int listener : listeners) callers.files_.push_back(COVE_TRY(file_of(listener)));
  return callers;
}

Result<void> Callers::check_accepted(int connection) const {
  // A listening socket has the file, too, but its peer credentials are its own.
  if (COVE_TRY(number_of(connection, SO_ACCEPTCONN)) != 0)
    return fail(Code::Denied, "the descriptor is not an accepted connection");
  Result<UniqueFd> file = file_of(connection);
  if (!file && file.error().errnum() != ENOENT) return std::unexpected(file.error());
  for (const UniqueFd& own : files_)
    if (file && COVE_TRY(is_same_file(file->get(), own.get()))) return {};
  return fail(Code::Denied, "the connection was not accepted at this server's own socket");
}

Result<UserCredentials> Callers::identify(int connection) const {
  if (COVE_TRY(number_of(connection, SO_DOMAIN)) != AF_UNIX)
    return fail(Code::Denied, "the connection is not a Unix socket");
  if (::geteuid() == 0) COVE_TRY(check_accepted(connection));
  struct ucred caller = {};
  socklen_t size = sizeof caller;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &caller, &size) < 0) return fail_errno("identify the caller");
  if (caller.uid == kNobody) return fail(Code::Denied, "the caller cannot be identified");
  return UserCredentials{caller.uid, caller.gid, COVE_TRY(groups_at(connection))};
}

}  // namespace cove::spawn
