#include "engine/sandbox/review_base.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kMostComplaint = 4096;
constexpr const char* kAdvice = "choose a smaller folder as the workspace, or show it with access 'ro' or 'rw'";

// One record on its way, for as long as somebody waits for it and it takes no longer than it may.
class Recording {
 public:
  Recording(std::unique_ptr<HostProcess> process, const RecordPatience& patience)
      : process_(std::move(process)), patience_(patience), deadline_(Clock::now() + patience.time) {}

  Result<change::BaseHead> receive(int into) {
    Result<change::BaseHead> head = change::receive_base(process_->out.get(), into, {}, [this]() -> Result<void> {
      Result<void> waited = wait_for(process_->out.get());
      if (!waited) given_up_ = true;
      return waited;
    });
    if (given_up_) {
      process_->kill();
      return head;
    }
    // It may be waiting to be rid of the rest.
    if (!head) process_->out.reset();
    COVE_TRY(succeeded());
    return head;
  }

 private:
  Result<void> wait_for(int fd) {
    pollfd fds[] = {{fd, POLLIN, 0}, {patience_.peer, POLLRDHUP, 0}};
    int ready;
    do {
      auto left = std::chrono::ceil<milliseconds>(deadline_ - Clock::now()).count();
      ready = ::poll(fds, 2, static_cast<int>(std::max<long>(left, 0)));
    } while (ready < 0 && errno == EINTR);
    if (ready < 0) return fail_errno("poll");
    if (fds[1].revents != 0) return fail(Code::Unavailable, "nobody waits for it any more");
    if (ready > 0) return {};
    return fail(
        Error(Code::Unsupported, concat("it takes longer than ", patience_.time.count() / 1000, " s")).hint(kAdvice));
  }

  // What it said, where it failed: it has closed its output by then.
  Result<void> succeeded() {
    COVE_TRY(wait_for(process_->end_fd()));
    HostRunEnd end = COVE_TRY(process_->end());
    if (WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0) return {};
    if (WIFSIGNALED(end.wait_status))
      return fail(Error(Code::Unsupported, concat("cove-record was ended by signal ", WTERMSIG(end.wait_status),
                                                  ", as one is that needs too much time or memory"))
                      .hint(kAdvice));
    std::string complaint(trim(sys::read_all(process_->err.get(), kMostComplaint).value_or("")));
    return fail(Error(Code::Unsupported, complaint.empty() ? "cove-record failed" : complaint).hint(kAdvice));
  }

  std::unique_ptr<HostProcess> process_;
  RecordPatience patience_;
  Clock::time_point deadline_;
  bool given_up_ = false;
};

Result<change::BaseHead> receive(Runtime& runtime, const Workspace& workspace, const std::string& folder,
                                 const RecordPatience& patience) {
  COVE_TRY(sys::make_folders(folder, 0700));
  UniqueFd into = COVE_TRY(sys::open(folder, O_RDONLY | O_DIRECTORY));
  return Recording(COVE_TRY(runtime.record_base(workspace)), patience).receive(into.get());
}

}  // namespace

Result<change::BaseHead> record_base(Runtime& runtime, const Workspace& workspace, const std::string& folder,
                                     const RecordPatience& patience) {
  Result<change::BaseHead> head = receive(runtime, workspace, folder, patience);
  if (head) return head;
  static_cast<void>(sys::remove_tree(folder));
  return fail(std::move(head.error()).note(concat("record what ", workspace.path, " is like")));
}

}  // namespace cove::engine
