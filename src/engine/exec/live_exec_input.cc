// The input of an exec.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/text.h"
#include "engine/exec/live_exec.h"

namespace cove::engine {
namespace {

constexpr int kInputSlice = 100;  // milliseconds between looks at whether the exec has ended
constexpr size_t kPipe = 65536;   // what a pipe takes without a reader
constexpr std::chrono::milliseconds kInputPatience = std::chrono::minutes(10);
constexpr char kEndOfInput = 4;  // what ends the input of a terminal

}  // namespace

void LiveExec::feed(std::string input) {
  // What fits into the pipe goes at once.
  bool fits = input.size() <= kPipe;
  auto write = [self = shared_from_this(), data = std::move(input)] {
    static_cast<void>(self->write_input(data, kInputPatience));
    static_cast<void>(self->close_input());
  };
  if (fits)
    write();
  else
    std::thread(std::move(write)).detach();
}

Result<void> LiveExec::write_input(std::string_view data, std::chrono::milliseconds patience) {
  size_t taken = COVE_TRY(offer_input(data, patience));
  if (taken == data.size()) return {};
  return fail(Code::Unavailable,
              concat("exec ", parts_.info.id, " took ", taken, " of ", data.size(), " bytes and does not read on"));
}

Result<size_t> LiveExec::offer_input(std::string_view data, std::chrono::milliseconds patience) {
  std::lock_guard lock(input_mutex_);
  size_t total = data.size();
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (!data.empty()) {
    if (!input_) return fail(Code::Conflict, concat("the input of exec ", parts_.info.id, " is closed"));
    ssize_t count = ::write(input_.get(), data.data(), data.size());
    if (count > 0) {
      data.remove_prefix(static_cast<size_t>(count));
      continue;
    }
    if (count < 0 && errno == EPIPE)
      return fail(Code::Conflict, concat("exec ", parts_.info.id, " reads no more input"));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return fail_errno("write to an exec's input");
    if (ended()) {
      input_.reset();
      continue;
    }
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    pollfd polled = {input_.get(), POLLOUT, 0};
    ::poll(&polled, 1, static_cast<int>(std::min<int64_t>(left, kInputSlice)));
  }
  return total - data.size();
}

Result<void> LiveExec::close_input() {
  {
    std::lock_guard lock(input_mutex_);
    if (!input_) return {};
    if (parts_.info.order.spec.pty) {
      if (::write(input_.get(), &kEndOfInput, 1) < 0) return fail_errno("end the input of a terminal");
      return {};
    }
    input_.reset();
  }
  std::shared_ptr<ExecHost> there = COVE_TRY(host());
  return there->close_exec_input(parts_.info.id);
}

}  // namespace cove::engine
