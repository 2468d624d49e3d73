// What of an exec's output is shown where it has secrets.
#include <unistd.h>

#include <cerrno>

#include "engine/exec/live_exec.h"

namespace cove::engine {
namespace {

constexpr size_t kMaskedPortion = 256 << 10;
constexpr std::chrono::milliseconds kRestPatience(50);  // then so little of a secret is shown as does not matter

}  // namespace

// With secrets, what is written goes through this process, and into the log without them.
Result<std::optional<size_t>> LiveExec::take_masked(Output& output) {
  std::string data(kMaskedPortion, '\0');
  const ssize_t count = ::read(output.fd.get(), data.data(), data.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::optional<size_t>();
  const bool ends = count == 0 || (count < 0 && errno == EIO);  // a terminal whose programs have all gone
  if (count < 0 && !ends) return fail_errno("read the output of an exec");
  data.resize(ends ? 0 : static_cast<size_t>(count));
  show(output, ends ? output.mask->finish() : output.mask->feed(data));
  if (output.mask->waits()) expect_rest();
  return std::optional<size_t>(data.size());
}

void LiveExec::show(Output& output, std::string_view data) {
  if (data.empty()) return;
  // What cannot be kept for readers is in the result all the same.
  static_cast<void>(log_.add(output.stream, data, log_window()));
  if (share_) share_->set(log_.kept());
}

// What was held back because a secret may begin with it.
void LiveExec::show_rest(Output& output) {
  if (output.mask) show(output, output.mask->finish());
}

void LiveExec::expect_rest() { tools_.pump.wake_at(tools_.clock.now() + kRestPatience, weak_from_this()); }

void LiveExec::show_what_waits() {
  for (Output& output : outputs_)
    if (output.mask->waits()) show(output, output.mask->rest());
  wake_followers();
}

std::string LiveExec::write(Stream stream, std::string_view data) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended) return {};
  Output& output = outputs_[stream == Stream::Out ? 0 : 1];
  std::string shown = output.mask ? output.mask->feed(data) : std::string(data);
  show(output, shown);
  wake_followers();
  return shown;
}

std::string LiveExec::rest(Stream stream) {
  std::lock_guard lock(mutex_);
  Output& output = outputs_[stream == Stream::Out ? 0 : 1];
  if (parts_.info.state == ExecState::Ended || !output.mask) return {};
  std::string shown = output.mask->finish();
  show(output, shown);
  wake_followers();
  return shown;
}

// Output was masked as it came.
ExecResult LiveExec::masked(ExecResult result) const {
  if (!parts_.mask) return result;
  result.why = parts_.mask->mask(result.why);
  for (Denial& denial : result.denials)
    for (std::string* text : {&denial.what, &denial.why, &denial.host, &denial.rule, &denial.hint})
      *text = parts_.mask->mask(*text);
  return result;
}

}  // namespace cove::engine
