#include "run/run_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.h"
#include "sys/file.h"

namespace cove {
namespace {

constexpr auto kRepeatPause = std::chrono::seconds(1);

// A terminal is one descriptor for both directions.
UniqueFd take_input(Attachment& streams) {
  if (!streams.terminal) return std::move(streams.in);
  Result<UniqueFd> copy = sys::dup(streams.terminal.get());
  return copy ? std::move(*copy) : UniqueFd();
}

UniqueFd take_output(Attachment& streams) {
  return streams.terminal ? std::move(streams.terminal) : std::move(streams.out);
}

}  // namespace

RunLoop::RunLoop(Sandbox& sandbox, const RunRequest& request, Caller& caller, Attachment streams)
    : sandbox_(sandbox),
      request_(request),
      caller_(caller),
      out_({}, -1, 0),
      err_(std::move(streams.err), request.stdio == Stdio::Stream ? 2 : -1, request.sandbox.limits.retained.value),
      in_(request.interactive ? 0 : -1, take_input(streams),
          request.exec.pty ? InputStream::End::Key : InputStream::End::Close),
      started_(Clock::now()) {
  out_ = OutputStream(take_output(streams), request.stdio == Stdio::Stream ? 1 : -1,
                      request.sandbox.limits.retained.value);
  result_.exec_id = request.exec.id;
  result_.sandbox_id = request.sandbox.id;
  result_.started_at = std::chrono::system_clock::now();
  auto timeout = request.sandbox.limits.timeout.value;
  if (timeout.count() > 0) deadline_ = started_ + timeout;
}

Result<ExecResult> RunLoop::run() {
  while (!ended_) COVE_TRY(turn());
  finish_streams();
  result_.out = out_.take();
  result_.err = err_.take();
  result_.limits = sandbox_.enforced();
  note_reported_limits(result_, request_.sandbox.limits);
  return std::move(result_);
}

Result<void> RunLoop::delivered() const {
  COVE_TRY(cove::delivered(STDOUT_FILENO, out_.error()));
  return cove::delivered(STDERR_FILENO, err_.error());
}

Result<void> RunLoop::turn() {
  pollfd polled[5] = {
      {sandbox_.events_fd(), POLLIN, 0}, {caller_.signals(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}};
  if (out_.open()) polled[2] = out_.wanted();
  if (err_.open()) polled[3] = err_.wanted();
  if (in_.open()) polled[4] = in_.wanted();
  if (::poll(polled, 5, patience()) < 0 && errno != EINTR) return fail_errno("poll");
  count_output(out_.open() ? out_.move(polled[2].revents) : 0);
  count_output(err_.open() ? err_.move(polled[3].revents) : 0);
  if (in_.open()) in_.move(polled[4].revents);
  if (polled[1].revents) on_signals();
  if (polled[0].revents) COVE_TRY(on_events());
  on_clock();
  return {};
}

int RunLoop::patience() const {
  std::optional<Clock::time_point> next = deadline_;
  if (in_.wants_end_key() && (!next || end_key_at_ < *next)) next = end_key_at_;
  if (hangs_up_at_ && (!next || *hangs_up_at_ < *next)) next = hangs_up_at_;
  if (!next) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void RunLoop::on_signals() {
  while (std::optional<Caller::Signal> signal = caller_.next_signal()) {
    if (signal->number == SIGWINCH) {
      if (request_.exec.pty) static_cast<void>(sandbox_.resize(request_.exec.id, Caller::window_size()));
      continue;
    }
    auto reach = signal->from_terminal ? SignalReach::Group : SignalReach::Process;
    static_cast<void>(sandbox_.signal(request_.exec.id, signal->number, reach));
    // An interactive shell ignores SIGTERM, but not the loss of its terminal.
    if (request_.exec.pty && signal->number == SIGTERM) hang_up();
    if (request_.exec.pty && signal->number == SIGHUP) hangs_up_at_ = Clock::now() + kRepeatPause;
  }
}

// Repeated until the program ends: bash misses a SIGHUP that arrives just before it waits for a key.
void RunLoop::hang_up() {
  static_cast<void>(sandbox_.signal(request_.exec.id, SIGHUP, SignalReach::Group));
  hangs_up_at_ = Clock::now() + kRepeatPause;
}

Result<void> RunLoop::on_events() {
  while (!ended_) {
    std::optional<Event> event = COVE_TRY(sandbox_.next_event());
    if (!event) return {};
    COVE_TRY(on_event(std::move(*event)));
  }
  return {};
}

Result<void> RunLoop::on_event(Event event) {
  if (auto* end = std::get_if<ExecEnded>(&event)) {
    ended_ = true;
    conclude(*end);
  } else if (auto* failure = std::get_if<ExecFailed>(&event)) {
    if (failure->exit_code == 125) return fail(failure->error);
    ended_ = true;
    judge(result_, *failure);
  } else if (auto* gone = std::get_if<SandboxEnded>(&event)) {
    if (gone->error) return fail(*gone->error);
    ended_ = true;
    ExecEnded by_force{request_.exec.id, SIGKILL};
    by_force.oom_kills = gone->out_of_memory ? 1 : 0;
    conclude(by_force);
  }
  return {};
}

void RunLoop::on_clock() {
  if (in_.wants_end_key() && Clock::now() >= end_key_at_) {
    in_.press_end_key();
    end_key_at_ = Clock::now() + kRepeatPause;
  }
  if (hangs_up_at_ && Clock::now() >= *hangs_up_at_ && !ended_) hang_up();
  if (!deadline_ || Clock::now() < *deadline_ || ended_) return;
  if (!terminated_) {
    // Timed out: SIGTERM first, then SIGKILL.
    terminated_ = true;
    cause_ = Cause::Timeout;
    static_cast<void>(sandbox_.signal(request_.exec.id, SIGTERM, SignalReach::Group));
    static_cast<void>(sandbox_.signal(request_.exec.id, SIGCONT, SignalReach::Group));
    deadline_ = Clock::now() + request_.sandbox.limits.grace.value;
  } else {
    deadline_.reset();
    end_by_force(Cause::Timeout);
  }
}

void RunLoop::count_output(uint64_t bytes) {
  output_bytes_ += bytes;
  uint64_t most = request_.sandbox.limits.output.value;
  if (most > 0 && output_bytes_ > most && cause_ == Cause::None) end_by_force(Cause::Output);
}

void RunLoop::end_by_force(Cause cause) {
  cause_ = cause;
  static_cast<void>(sandbox_.kill(request_.exec.id));
}

// The program has ended; orphans that still have its pipes open are not waited for.
void RunLoop::finish_streams() {
  in_.close();
  if (out_.open()) out_.drain();
  if (err_.open()) err_.drain();
}

void RunLoop::conclude(const ExecEnded& end) {
  result_.duration_ms = std::chrono::duration<double, std::milli>(Clock::now() - started_).count();
  judge(result_, end, cause_, request_.sandbox.limits);
}

}  // namespace cove
