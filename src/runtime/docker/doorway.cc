#include "runtime/docker/doorway.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>

#include "base/text.h"
#include "init/protocol.h"
#include "sys/beneath.h"
#include "sys/file.h"

namespace cove::docker {
namespace {

constexpr std::chrono::seconds kStartPatience(60);
constexpr int kLook = 500;         // milliseconds between looks at whether the container still runs
constexpr int kPatience = 10'000;  // of process 1 that is there
constexpr const char* kSameKernel =
    "is the engine on this machine's own kernel? one in a virtual machine of its own (Docker Desktop) cannot be used";

bool readable(int fd, int milliseconds) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, milliseconds) > 0;
}

Result<UniqueFd> wait_at_door(int door, const Engine& engine, const std::string& container) {
  auto until = std::chrono::steady_clock::now() + kStartPatience;
  while (!readable(door, kLook)) {
    Engine::State state = COVE_TRY_NOTE("look at the container", engine.state(container));
    if (!state.running)
      return fail(Error(Code::Unavailable, concat("process 1 did not start: ", state.ended)).hint(kSameKernel));
    if (std::chrono::steady_clock::now() > until)
      return fail(
          Error(Code::Unavailable, "process 1 runs in the container, but does not reach Cove").hint(kSameKernel));
  }
  UniqueFd visitor(::accept4(door, nullptr, nullptr, SOCK_CLOEXEC));
  if (!visitor) return fail_errno("accept process 1");
  return visitor;
}

Result<pid_t> pid_of(int visitor) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(visitor, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return fail_errno("find process 1");
  if (peer.pid <= 0) return fail(Error(Code::Unavailable, "process 1 is not of this machine").hint(kSameKernel));
  return peer.pid;
}

// The engine was told a path. What it has mounted must be the folder that was opened with the rights of whoever asked
// for it.
Result<void> check_workspace(const Workspace& workspace, pid_t process_1) {
  if (workspace.access == Access::None || workspace.mount < 0) return {};
  struct stat wanted = COVE_TRY(sys::fstat(workspace.mount));
  UniqueFd root = COVE_TRY(sys::open(concat("/proc/", process_1, "/root"), O_PATH | O_DIRECTORY));
  struct stat shown = COVE_TRY_NOTE("look at the workspace", sys::stat_beneath(root.get(), kWorkspacePath + 1));
  if (shown.st_dev == wanted.st_dev && shown.st_ino == wanted.st_ino) return {};
  return fail(Code::Conflict, concat("show the workspace: ", workspace.path, " was replaced meanwhile"));
}

// Whom `user` is, where the image has none: whoever owns the workspace, so that he can work in it.
uint64_t user_id(const Workspace& workspace) {
  constexpr uid_t kHighest = 65535;
  if (workspace.access == Access::None) return wire::kDoorUser;
  Result<struct stat> info = workspace.mount >= 0 ? sys::fstat(workspace.mount) : sys::stat(workspace.path);
  return info && info->st_uid > 0 && info->st_uid < kHighest ? info->st_uid : wire::kDoorUser;
}

}  // namespace

Result<SecondFence> let_in(const PendingContainer& pending, const Engine& engine, const std::string& container) {
  UniqueFd visitor = COVE_TRY(wait_at_door(pending.door.get(), engine, container));
  COVE_TRY(check_workspace(pending.spec.workspace, COVE_TRY(pid_of(visitor.get()))));
  std::vector<int> fds = {pending.control.second.get()};
  if (pending.listener) fds.push_back(pending.listener.get());
  wire::Writer word;
  word.text(wire::kDoorWord).number(user_id(pending.spec.workspace));
  COVE_TRY_NOTE("let process 1 in", sys::send_message(visitor.get(), word.data(), fds));
  if (!readable(visitor.get(), kPatience)) return fail(Code::Unavailable, "process 1 does not answer");
  sys::Message answer = COVE_TRY_NOTE("hear from process 1", sys::receive_message(visitor.get(), wire::kMaxMessage));
  if (answer.data.empty()) return fail(Code::Unavailable, "process 1 ended when it was let in");
  return wire::Reader(answer.data).number() > 0 ? SecondFence::Up : SecondFence::Missing;
}

}  // namespace cove::docker
