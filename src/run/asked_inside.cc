#include "run/asked_inside.h"

#include <poll.h>
#include <unistd.h>

#include "base/id.h"
#include "base/text.h"
#include "run/environment.h"
#include "sys/file.h"

namespace cove {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMost = 64 * 1024;

// Reads available data; false at the end.
bool take(int fd, std::string& text) {
  char buffer[4096];
  ssize_t count;
  while ((count = ::read(fd, buffer, sizeof buffer)) > 0)
    if (text.size() < kMost) text.append(buffer, static_cast<size_t>(count));
  return count != 0;
}

Result<bool> has_ended(Sandbox& sandbox) {
  while (true) {
    std::optional<Event> event = COVE_TRY(sandbox.next_event());
    if (!event) return false;
    if (auto* failed = std::get_if<ExecFailed>(&*event)) return fail(failed->error);
    if (auto* gone = std::get_if<SandboxEnded>(&*event); gone && gone->error) return fail(*gone->error);
    if (!std::holds_alternative<ExecWaiting>(*event)) return true;
  }
}

Result<std::string> listen(Sandbox& sandbox, const Attachment& streams, Clock::time_point until) {
  std::string text;
  COVE_TRY(sys::set_nonblocking(streams.out.get()));
  pollfd polled[] = {{streams.out.get(), POLLIN, 0}, {sandbox.events_fd(), POLLIN, 0}};
  while (true) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || ::poll(polled, 2, static_cast<int>(left)) < 0)
      return fail(Code::Unavailable, "a program in a sandbox does not respond");
    if (!take(streams.out.get(), text)) polled[0].fd = -1;
    if (COVE_TRY(has_ended(sandbox))) break;
  }
  static_cast<void>(take(streams.out.get(), text));
  return text;
}

}  // namespace

Result<std::string> asked_inside(Runtime& runtime, SandboxSpec spec, const std::vector<std::string>& argv,
                                 std::chrono::milliseconds patience) {
  Clock::time_point until = Clock::now() + patience;
  spec.id = make_id();
  ExecSpec exec;
  exec.id = make_id();
  exec.argv = argv;
  exec.env = base_environment(spec);
  exec.input = false;
  std::unique_ptr<Sandbox> sandbox = COVE_TRY(runtime.create(spec));
  Result<Attachment> streams = sandbox->exec(exec);
  Result<std::string> text =
      streams ? listen(*sandbox, *streams, until) : Result<std::string>(std::unexpected(streams.error()));
  static_cast<void>(sandbox->destroy(Files::Remove));
  return text;
}

}  // namespace cove
