// Folders of users: opened with the rights of whoever asks.
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "runtime/native/same_folder.h"
#include "runtime/native/spawn_server.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::native {
namespace {

using wire::Reader;

// Acts with a user's rights over files until its end. A process of one thread.
class ActingAs {
 public:
  ActingAs(uid_t uid, gid_t gid) {
    std::vector<gid_t> groups = groups_of(uid, gid);
    ok_ = ::setgroups(groups.size(), groups.data()) == 0 && ::setegid(gid) == 0 && ::seteuid(uid) == 0;
  }
  ~ActingAs() {
    if (::seteuid(0) < 0 || ::setegid(0) < 0 || ::setgroups(0, nullptr) < 0) ::abort();
  }
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;
  bool ok() const { return ok_; }

 private:
  bool ok_;
};

bool is_absolute(const std::string& path) { return path.starts_with('/') && path.find('\0') == path.npos; }

Result<UniqueFd> open_folder_as_myself(const std::string& path, Access access) {
  UniqueFd folder = COVE_TRY(sys::open(path, O_PATH | O_DIRECTORY));
  int wanted = R_OK | X_OK | (access == Access::ReadWrite ? W_OK : 0);
  if (::faccessat(folder.get(), ".", wanted, AT_EACCESS) < 0) return fail_errno(concat("access ", path));
  return folder;
}

Result<UniqueFd> open_folder_as_caller(const std::string& path, Access access, int connection) {
  Person caller = COVE_TRY(peer_of(connection));
  if (caller.uid == 0) return open_folder_as_myself(path, access);
  ActingAs rights(caller.uid, caller.gid);
  if (!rights.ok()) return fail_errno(concat("act as user ", caller.uid));
  return open_folder_as_myself(path, access);
}

Result<UniqueFd> open_folder_below(const std::vector<std::string>& roots, const std::string& path) {
  for (const std::string& root : roots) {
    if (path != root && !path.starts_with(root.ends_with('/') ? root : root + "/")) continue;
    UniqueFd top = COVE_TRY(sys::open(root, O_PATH | O_DIRECTORY));
    std::string rest = path.substr(root.size());
    while (rest.starts_with('/')) rest.erase(0, 1);
    Result<UniqueFd> folder = sys::openat2(top.get(), rest.empty() ? "." : rest, O_PATH | O_DIRECTORY,
                                           RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    // It leads out, by `..` or by a link.
    if (!folder && (folder.error().errnum() == EXDEV || folder.error().errnum() == ELOOP)) break;
    return folder;
  }
  return fail(Error(Code::Denied, concat(path, " is not below a folder that may be shown to callers from elsewhere"))
                  .hint("the administrator lists such folders as `workspace_roots`"));
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// Whether the first is the second, or lies below it.
Result<bool> lies_in(int inner, int outer) {
  const struct stat wanted = COVE_TRY(sys::fstat(outer));
  struct stat here = COVE_TRY(sys::fstat(inner));
  UniqueFd folder = COVE_TRY(sys::dup(inner));
  while (!is_same(here, wanted)) {
    folder = COVE_TRY(sys::openat(folder.get(), "..", O_PATH | O_DIRECTORY));
    struct stat above = COVE_TRY(sys::fstat(folder.get()));
    if (is_same(above, here)) return false;
    here = above;
  }
  return true;
}

// What the server keeps is nobody's to work on: who could write there would have the server. A folder that holds it
// among other things, as a user's home does, may be looked at.
Result<void> check_not_own(int folder, const std::string& path, Access access) {
  std::string state = COVE_TRY(sys::find_folder(sys::kStateFolder));
  Result<UniqueFd> own = sys::open(state, O_PATH | O_DIRECTORY);
  if (!own && own.error().code() == Code::NotFound) return {};
  if (!own) return std::unexpected(own.error());
  const bool written_around = access == Access::ReadWrite && lies_in(own->get(), folder).value_or(false);
  if (!written_around && !lies_in(folder, own->get()).value_or(false)) return {};
  return fail(Error(Code::Denied, concat(path, " holds what the server itself keeps, at ", state))
                  .hint("choose a folder that neither holds that one nor lies in it, or set `state` to another"));
}

}  // namespace

Result<UniqueFd> SpawnServer::open_workspace(const Workspace& workspace, int connection) const {
  if (workspace.access == Access::None) return UniqueFd();
  Result<UniqueFd> opened = connection < 0     ? open_folder_below(workspace_roots_, workspace.path)
                            : ::geteuid() != 0 ? open_folder_as_myself(workspace.path, workspace.access)
                                               : open_folder_as_caller(workspace.path, workspace.access, connection);
  if (!opened && opened.error().errnum() == ENAMETOOLONG)
    return fail(Code::Invalid, "the path of the workspace, or a name in it, is longer than the kernel takes");
  UniqueFd folder = COVE_TRY(std::move(opened));
  COVE_TRY(check_not_own(folder.get(), workspace.path, workspace.access));
  if (!is_same_folder(folder.get(), workspace.device, workspace.inode))
    return fail(Error(Code::Unavailable, concat(workspace.path, " is another folder than the one that was recorded"))
                    .hint("put the folder back, or begin a new session or sandbox"));
  return folder;
}

Result<void> SpawnServer::pin_workspace(uint64_t token, Reader& in, const std::vector<UniqueFd>& fds) {
  Workspace workspace{.path = in.text()};
  uint64_t access = in.number();
  bool shown = access > static_cast<uint64_t>(Access::None) && access <= static_cast<uint64_t>(Access::Review);
  if (!in.done() || !shown || fds.size() > 1 || !is_absolute(workspace.path))
    return fail(Code::Invalid, "the request makes no sense");
  workspace.access = static_cast<Access>(access);
  UniqueFd folder = COVE_TRY_NOTE("look at the workspace", open_workspace(workspace, fds.empty() ? -1 : fds[0].get()));
  struct stat info = COVE_TRY(sys::fstat(folder.get()));
  return done(token, wire::Writer().number(file_system_of(folder.get(), info)).number(info.st_ino));
}

// Whoever may have it shown has it read; but root's own rights are not used on what others have made.
Result<void> SpawnServer::record_base(uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  std::string id = in.text();
  Workspace workspace{.path = in.text(), .access = Access::Review};
  workspace.device = in.number();
  workspace.inode = in.number();
  if (!in.done() || !is_absolute(workspace.path) || !spawn::is_sandbox_id(id) || fds.size() < 2 || fds.size() > 3)
    return fail(Code::Invalid, "the request makes no sense");
  int connection = fds.size() == 3 ? fds[2].get() : -1;
  UniqueFd folder = COVE_TRY_NOTE("record the workspace", open_workspace(workspace, connection));
  Person person = connection < 0 ? Person{} : COVE_TRY(peer_of(connection));
  if (person.uid == 0) {
    struct stat info = COVE_TRY(sys::fstat(folder.get()));
    person = {info.st_uid, info.st_gid};
  }
  return host_runs_.record(token, id, person, folder.get(), std::move(fds));
}

}  // namespace cove::native
