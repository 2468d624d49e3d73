#include "engine/service/following.h"

#include <poll.h>

namespace cove::engine {
namespace {

using Wake = CallerPresence::Wake;

constexpr std::chrono::minutes kPatience{1};
constexpr int kLastPatience = 3000;  // milliseconds, for an exec to end while the server stops
constexpr size_t kPassedAtOnce = 256 * kKiB;

bool ends_soon(int end_fd) {
  pollfd polled = {.fd = end_fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, kLastPatience) > 0;
}

}  // namespace

Result<ExecResult> result_of(const Exec& exec) {
  if (auto failure = exec.failure()) return fail(*failure);
  std::optional<ExecResult> result = exec.info().result;
  if (!result) return fail(Code::Internal, "there is no record of how the exec ended");
  return std::move(*result);
}

Result<Waited> wait_for_end(Exec& exec, CallerPresence& caller, OnDisconnect on_disconnect) {
  UniqueFd end = COVE_TRY(exec.end_fd());
  Wake wake = Wake::Timeout;
  while (wake == Wake::Timeout) wake = caller.wait(end.get(), kPatience);
  if (wake == Wake::Gone) {
    if (on_disconnect == OnDisconnect::Kill) COVE_TRY(exec.kill());
    return Waited::Left;
  }
  return wake == Wake::Stopping && !ends_soon(end.get()) ? Waited::Stopping : Waited::Ended;
}

Result<FollowEnd> pass_output(Follower& follower, CallerPresence& caller, RunSink& sink) {
  while (true) {
    std::vector<Chunk> chunks = COVE_TRY(follower.next(kPassedAtOnce));
    if (!chunks.empty()) {
      if (!sink.output(chunks)) return FollowEnd::Left;
      continue;
    }
    if (follower.at_end()) return FollowEnd::Whole;
    Wake wake = caller.wait(follower.fd(), kPatience);
    if (wake == Wake::Gone) return FollowEnd::Left;
    if (wake == Wake::Stopping) return FollowEnd::Stopping;
  }
}

}  // namespace cove::engine
