#include "engine/service/host_run.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/id.h"
#include "base/text.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr int kReadsPerTurn = 16;

bool is_readable(int fd) {
  pollfd polled = {.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) > 0;
}

Result<UniqueFd> timer_for(std::chrono::milliseconds time) {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return fail_errno("timerfd_create");
  itimerspec when = {};
  when.it_value.tv_sec = time.count() / 1000;
  when.it_value.tv_nsec = time.count() % 1000 * 1'000'000;
  if (::timerfd_settime(timer.get(), 0, &when, nullptr) < 0) return fail_errno("timerfd_settime");
  return timer;
}

Result<void> add(int epoll, int fd, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) return fail_errno("epoll_ctl");
  return {};
}

}  // namespace

HostRun::HostRun(std::unique_ptr<HostProcess> process, const Limits& limits, std::string input)
    : id_(make_id()),
      process_(std::move(process)),
      limits_(limits),
      input_(std::move(input)),
      outputs_{{std::move(process_->out), Stream::Out, Retained(limits.retained.value)},
               {std::move(process_->err), Stream::Err, Retained(limits.retained.value)}} {}

Result<std::unique_ptr<HostRun>> HostRun::create(std::unique_ptr<HostProcess> process, const Limits& limits,
                                                 std::string input) {
  std::unique_ptr<HostRun> run(new HostRun(std::move(process), limits, std::move(input)));
  COVE_TRY(run->watch());
  return run;
}

Result<void> HostRun::watch() {
  ready_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!ready_) return fail_errno("epoll_create1");
  COVE_TRY(add(ready_.get(), process_->end_fd(), EPOLLIN));
  for (const Output& output : outputs_) {
    COVE_TRY(sys::set_nonblocking(output.fd.get()));
    COVE_TRY(add(ready_.get(), output.fd.get(), EPOLLIN));
  }
  if (input_.empty()) process_->in.reset();
  if (process_->in) {
    COVE_TRY(sys::set_nonblocking(process_->in.get()));
    COVE_TRY(add(ready_.get(), process_->in.get(), EPOLLOUT));
  }
  if (limits_.timeout.value.count() == 0) return {};
  timer_ = COVE_TRY(timer_for(limits_.timeout.value));
  return add(ready_.get(), timer_.get(), EPOLLIN);
}

void HostRun::take_output(Output& output, const Sink& sink) {
  char buffer[65536];
  for (int i = 0; i < kReadsPerTurn && output.fd; ++i) {
    ssize_t count = ::read(output.fd.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      output.fd.reset();
      return;
    }
    std::string data(buffer, static_cast<size_t>(count));
    bytes_ += data.size();
    output.kept.add(data);
    if (sink) sink(output.stream, data);
  }
}

void HostRun::give_input() {
  while (process_->in && given_ < input_.size()) {
    ssize_t count = ::write(process_->in.get(), input_.data() + given_, input_.size() - given_);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0) break;  // it reads no more
    given_ += static_cast<size_t>(count);
  }
  process_->in.reset();
}

void HostRun::take(const Sink& sink) {
  // Asked first: whatever it wrote before its end is in the pipes then.
  bool ended = is_readable(process_->end_fd());
  give_input();
  for (Output& output : outputs_) take_output(output, sink);
  if (!ended && timer_ && is_readable(timer_.get())) {
    timer_.reset();
    kill(Cause::Timeout);
  }
  if (!ended && limits_.output.value > 0 && bytes_ > limits_.output.value) kill(Cause::Output);
  if (!ended) return;
  ended_ = std::chrono::steady_clock::now();
  over_ = true;
}

void HostRun::kill(Cause cause) {
  if (cause_ != Cause::None) return;
  cause_ = cause;
  process_->kill();
}

Result<ExecResult> HostRun::result() {
  HostRunEnd end = COVE_TRY(process_->end());
  ExecResult result;
  result.exec_id = id_;
  result.where = "host";
  result.started_at = started_at_;
  result.duration_ms = std::chrono::duration<double, std::milli>(ended_ - started_).count();
  if (limits_.timeout.value.count() > 0)
    result.limits["timeout"] = {concat(limits_.timeout.value.count(), " ms"), "timer"};
  if (limits_.output.value > 0) result.limits["output"] = {format_bytes(limits_.output.value), "counter"};
  ExecEnded ended;
  ended.wait_status = end.wait_status;
  ended.usage = end.usage;
  judge(result, ended, cause_, limits_);
  result.out = outputs_[0].kept.take();
  result.err = outputs_[1].kept.take();
  return result;
}

}  // namespace cove::engine
