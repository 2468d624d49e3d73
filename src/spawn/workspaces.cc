// Opens users' folders with the rights of the caller.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "runtime/native/linked_worktree.h"
#include "runtime/native/own_folders.h"
#include "runtime/native/same_folder.h"
#include "spawn/server.h"
#include "sys/file.h"

namespace cove::spawn {
namespace {

using wire::Reader;

// A file system that does not respond (a network file system, or a user's own) must not block other requests.
constexpr std::chrono::seconds kOpenTimeout(10);
// The maximum at a time per user, so that one user cannot use all helpers, and in total, so that helpers remain for
// other work.
constexpr ptrdiff_t kMostOpenings = 8;
constexpr ptrdiff_t kMostOpeningsOfAll = 16;

bool is_absolute(const std::string& path) { return path.starts_with('/') && path.find('\0') == path.npos; }

Result<UniqueFd> open_folder(const std::string& path, Access access) {
  UniqueFd folder = COVE_TRY(sys::open(path, O_PATH | O_DIRECTORY));
  int wanted = R_OK | X_OK | (access == Access::ReadWrite ? W_OK : 0);
  if (::faccessat(folder.get(), ".", wanted, AT_EACCESS) < 0) return fail_errno(concat("access ", path));
  return folder;
}

std::unexpected<Error> refuse_from_elsewhere(const std::string& path) {
  return fail(Error(Code::Denied, concat(path, " is not below a folder that remote callers may use"))
                  .hint("the administrator lists these folders in `workspace_roots`"));
}

// The folder in the list that contains the path; null if there is none.
const std::string* root_of(const std::vector<std::string>& roots, const std::string& path) {
  auto found = std::ranges::find_if(roots, [&](const std::string& root) {
    return path == root || path.starts_with(root.ends_with('/') ? root : root + "/");
  });
  return found == roots.end() ? nullptr : &*found;
}

Result<UniqueFd> open_folder_below(const std::vector<std::string>& roots, const std::string& path) {
  const std::string* root = root_of(roots, path);
  if (!root) return refuse_from_elsewhere(path);
  UniqueFd top = COVE_TRY(sys::open(*root, O_PATH | O_DIRECTORY));
  std::string rest = path.substr(root->size());
  while (rest.starts_with('/')) rest.erase(0, 1);
  Result<UniqueFd> folder =
      sys::openat2(top.get(), rest.empty() ? "." : rest, O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
  // It leads out, through `..` or a link.
  if (!folder && (folder.error().errnum() == EXDEV || folder.error().errnum() == ELOOP))
    return refuse_from_elsewhere(path);
  return folder;
}

}  // namespace

// Runs in a child that assumes the caller's identity.
Result<UniqueFd> SpawnServer::open_workspace(const Workspace& workspace,
                                             const std::optional<UserCredentials>& caller) const {
  OwnFolders own = COVE_TRY(OwnFolders::look(COVE_TRY(own_folders(factory_.places()))));
  if (caller && caller->uid != 0) {
    COVE_TRY(assume_identity(*caller));
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // cleared by the change of identity
  }
  Result<UniqueFd> opened =
      caller ? open_folder(workspace.path, workspace.access) : open_folder_below(workspace_roots_, workspace.path);
  if (!opened && opened.error().errnum() == ENAMETOOLONG)
    return fail(Code::Invalid, "the path of the workspace, or a name in it, is longer than the kernel allows");
  UniqueFd folder = COVE_TRY(std::move(opened));
  COVE_TRY(own.check(folder.get(), workspace));
  if (!is_same_folder(folder.get(), workspace.device, workspace.inode))
    return fail(Error(Code::Unavailable, concat(workspace.path, " is not the folder that was recorded"))
                    .hint("restore the folder, or create a new session or sandbox"));
  return folder;
}

Result<void> SpawnServer::check_openings(const std::string& path, uid_t uid) const {
  auto refuse = [&](ptrdiff_t most, const char* whose) {
    return fail(
        Error(Code::Exhausted, concat("open ", path, ": ", most, " workspaces", whose, " are being opened already"))
            .hint("their file system may not respond; try again in a few seconds"));
  };
  if (std::ranges::count(helpers_, uid, &Helper::opens_for) >= kMostOpenings)
    return refuse(kMostOpenings, " of this user");
  if (std::ranges::count_if(helpers_, [](const Helper& helper) { return helper.opens_for.has_value(); }) >=
      kMostOpeningsOfAll)
    return refuse(kMostOpeningsOfAll, "");
  return {};
}

Result<void> SpawnServer::with_workspace(const Opening& opening, OpenedWorkspace go_on) {
  std::optional<UserCredentials> caller;
  if (opening.connection >= 0)
    caller = COVE_TRY(callers_.identify(opening.connection));
  else if (!root_of(workspace_roots_, opening.workspace.path))
    return refuse_from_elsewhere(opening.workspace.path);
  const uid_t uid = caller ? caller->uid : 0;
  COVE_TRY(check_openings(opening.workspace.path, uid));
  auto open = [&]() -> Result<HelperAnswer> {
    UniqueFd folder = COVE_TRY_NOTE(opening.attempt, open_workspace(opening.workspace, caller));
    struct stat info = COVE_TRY(sys::fstat(folder.get()));
    wire::Writer rest;
    rest.number(file_system_of(folder.get(), info)).number(info.st_ino).number(info.st_uid).number(info.st_gid);
    // Remote callers can use only folders below the configured roots.
    std::optional<LinkedWorktree> linked = caller ? find_linked_worktree(folder.get()) : std::nullopt;
    rest.text(linked ? linked->name : "");
    HelperAnswer answer{std::move(rest), {}};
    answer.fds.push_back(std::move(folder));
    if (linked) answer.fds.push_back(std::move(linked->repository));
    return answer;
  };
  auto finish = [caller, go_on = std::move(go_on)](Reader& in, std::vector<UniqueFd> fds) -> Result<void> {
    if (fds.empty() || fds.size() > 2) return fail(Code::Internal, "the workspace was not opened");
    ShownFolder shown;
    shown.folder = std::move(fds[0]);
    if (fds.size() == 2) shown.repository = std::move(fds[1]);
    shown.device = in.number();
    shown.inode = in.number();
    const auto owner = static_cast<uid_t>(in.number());
    const auto group = static_cast<gid_t>(in.number());
    shown.worktree = in.text();
    // Root's rights are not used on folders of other users.
    shown.reader = caller && caller->uid != 0 ? *caller : UserCredentials{owner, group};
    return go_on(std::move(shown));
  };
  COVE_TRY(run_helper(opening.token, open, finish));
  helpers_.back().until = std::chrono::steady_clock::now() + kOpenTimeout;
  helpers_.back().what = concat("open ", opening.workspace.path);
  helpers_.back().opens_for = uid;
  return {};
}

Result<void> SpawnServer::pin_workspace(uint64_t token, Reader& in, const std::vector<UniqueFd>& fds) {
  Workspace workspace{.path = in.text()};
  uint64_t access = in.number();
  bool shown = access > static_cast<uint64_t>(Access::None) && access <= static_cast<uint64_t>(Access::Review);
  if (!in.done() || !shown || fds.size() > 1 || !is_absolute(workspace.path))
    return fail(Code::Invalid, "invalid request");
  workspace.access = static_cast<Access>(access);
  auto tell = [this, token](const ShownFolder& folder) {
    return done(token, wire::Writer().number(folder.device).number(folder.inode));
  };
  return with_workspace({token, workspace, fds.empty() ? -1 : fds[0].get(), "examine the workspace"}, tell);
}

// A caller that may use the folder may also read it.
Result<void> SpawnServer::record_base(uint64_t token, Reader& in, std::vector<UniqueFd> fds) {
  std::string id = in.text();
  Workspace workspace{.path = in.text(), .access = Access::Review};
  workspace.device = in.number();
  workspace.inode = in.number();
  if (!in.done() || !is_absolute(workspace.path) || !spawn::is_sandbox_id(id) || fds.size() < 2 || fds.size() > 3)
    return fail(Code::Invalid, "invalid request");
  UniqueFd connection;
  if (fds.size() == 3) {
    connection = std::move(fds[2]);
    fds.pop_back();
  }
  auto streams = std::make_shared<std::vector<UniqueFd>>(std::move(fds));
  auto record = [this, token, id, streams](const ShownFolder& folder) {
    return host_runs_.record(token, id, folder.reader, folder.folder.get(), std::move(*streams));
  };
  return with_workspace({token, workspace, connection.get(), "record the workspace"}, record);
}

}  // namespace cove::spawn
