#include "engine/live/review_base.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove::live {
namespace {

constexpr size_t kMostComplaint = 4096;
constexpr int kPatience = 10'000;  // milliseconds, from the end of its output to its own

// What it said, where it failed: it has closed its output by then.
Result<void> succeeded(HostProcess& process) {
  pollfd ended = {process.end_fd(), POLLIN, 0};
  if (::poll(&ended, 1, kPatience) <= 0) return fail(Code::Unavailable, "cove-record does not end");
  HostRunEnd end = COVE_TRY(process.end());
  if (WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == 0) return {};
  std::string complaint(trim(sys::read_all(process.err.get(), kMostComplaint).value_or("")));
  return fail(Code::Unavailable, complaint.empty() ? std::string("cove-record was killed") : complaint);
}

Result<change::BaseHead> receive(Runtime& runtime, const Workspace& workspace, const std::string& folder) {
  COVE_TRY(sys::make_folders(folder, 0700));
  UniqueFd into = COVE_TRY(sys::open(folder, O_RDONLY | O_DIRECTORY));
  std::unique_ptr<HostProcess> process = COVE_TRY(runtime.record_base(workspace));
  Result<change::BaseHead> head = change::receive_base(process->out.get(), into.get());
  // It may be waiting to be rid of the rest.
  if (!head) process->out.reset();
  COVE_TRY(succeeded(*process));
  return head;
}

}  // namespace

Result<change::BaseHead> record_base(Runtime& runtime, const Workspace& workspace, const std::string& folder) {
  Result<change::BaseHead> head = receive(runtime, workspace, folder);
  if (head) return head;
  static_cast<void>(sys::remove_tree(folder));
  return fail(std::move(head.error()).note(concat("record what ", workspace.path, " is like")));
}

}  // namespace cove::live
