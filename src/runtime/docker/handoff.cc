#include "runtime/docker/handoff.h"

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

constexpr std::chrono::seconds kStartTimeout(60);
constexpr int kPollInterval = 500;  // milliseconds between checks whether the container is still running
constexpr int kTimeout = 10'000;    // milliseconds to wait for a connected process 1
constexpr const char* kSameKernel =
    "the engine must run on this machine's kernel; one in a virtual machine (Docker Desktop) cannot be used";

bool readable(int fd, int milliseconds) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, milliseconds) > 0;
}

Result<UniqueFd> accept_process_1(int listener, const Engine& engine, const std::string& container) {
  auto until = std::chrono::steady_clock::now() + kStartTimeout;
  while (!readable(listener, kPollInterval)) {
    Engine::State state = COVE_TRY_NOTE("look at the container", engine.state(container));
    if (!state.running)
      return fail(Error(Code::Unavailable, concat("process 1 did not start: ", state.ended)).hint(kSameKernel));
    if (std::chrono::steady_clock::now() > until)
      return fail(
          Error(Code::Unavailable, "process 1 runs in the container but does not connect to Cove").hint(kSameKernel));
  }
  UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return fail_errno("accept process 1");
  return connection;
}

Result<pid_t> pid_of(int connection) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) return fail_errno("find process 1");
  if (peer.pid <= 0) return fail(Error(Code::Unavailable, "process 1 does not run on this machine").hint(kSameKernel));
  return peer.pid;
}

// The engine mounts the workspace by path. The mounted folder must be the one that was opened with the caller's rights.
Result<void> check_workspace(const Workspace& workspace, pid_t process_1) {
  if (workspace.access == Access::None || workspace.mount < 0) return {};
  struct stat wanted = COVE_TRY(sys::fstat(workspace.mount));
  UniqueFd root = COVE_TRY(sys::open(concat("/proc/", process_1, "/root"), O_PATH | O_DIRECTORY));
  struct stat shown = COVE_TRY_NOTE("look at the workspace", sys::stat_beneath(root.get(), kWorkspacePath + 1));
  if (shown.st_dev == wanted.st_dev && shown.st_ino == wanted.st_ino) return {};
  return fail(Code::Conflict, concat("show the workspace: ", workspace.path, " was replaced meanwhile"));
}

// The id of `user` if the image does not define it: the workspace's owner, so that `user` can work in it.
uint64_t user_id(const Workspace& workspace) {
  constexpr uid_t kHighest = 65535;
  if (workspace.access == Access::None) return wire::kDefaultUserId;
  Result<struct stat> info = workspace.mount >= 0 ? sys::fstat(workspace.mount) : sys::stat(workspace.path);
  return info && info->st_uid > 0 && info->st_uid < kHighest ? info->st_uid : wire::kDefaultUserId;
}

}  // namespace

Result<SecondFence> hand_over_descriptors(const PendingContainer& pending, const Engine& engine,
                                          const std::string& container) {
  UniqueFd connection = COVE_TRY(accept_process_1(pending.handoff.get(), engine, container));
  COVE_TRY(check_workspace(pending.spec.workspace, COVE_TRY(pid_of(connection.get()))));
  std::vector<int> fds = {pending.control.second.get()};
  if (pending.listener) fds.push_back(pending.listener.get());
  wire::Writer word;
  word.text(wire::kHandoffWord).number(user_id(pending.spec.workspace));
  COVE_TRY_NOTE("pass process 1 its descriptors", sys::send_message(connection.get(), word.data(), fds));
  if (!readable(connection.get(), kTimeout)) return fail(Code::Unavailable, "process 1 does not answer");
  sys::Message answer = COVE_TRY_NOTE("wait for process 1", sys::receive_message(connection.get(), wire::kMaxMessage));
  if (answer.data.empty()) return fail(Code::Unavailable, "process 1 ended during its start");
  return wire::Reader(answer.data).number() > 0 ? SecondFence::Up : SecondFence::Missing;
}

}  // namespace cove::docker
