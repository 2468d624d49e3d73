#include "engine/exec/live_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/crash_point.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/record_codec.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

// How far a reader may be behind before the program has to wait for it, and when it goes on.
constexpr uint64_t kMostBehind = 8 << 20;
constexpr uint64_t kCaughtUp = 4 << 20;
constexpr int kMovesPerTurn = 4;
constexpr std::chrono::milliseconds kKillPatience(10'000);

Result<UniqueFd> make_eventfd() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) return fail_errno("eventfd");
  return fd;
}

bool has_data(int fd) {
  int bytes = 0;
  return ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

// Somebody has the other end of the pipe open.
bool orphans_hold(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 0 || (polled.revents & POLLHUP) == 0;
}

Error conflict(std::string what) { return Error(Code::Conflict, std::move(what)); }

}  // namespace

// A reader of the log, known to the exec so that it can be woken and waited for.
class LiveExec::LiveFollower : public Follower {
 public:
  LiveFollower(std::shared_ptr<LiveExec> exec, ExecLog::Position at, UniqueFd wake)
      : exec_(std::move(exec)), at_(at), wake_(std::move(wake)) {}
  ~LiveFollower() override {
    {
      std::lock_guard lock(exec_->mutex_);
      std::erase(exec_->followers_, this);
    }
    exec_->follower_moved();
  }

  Result<std::vector<Chunk>> next(size_t most) override {
    eventfd_t value;
    ::eventfd_read(wake_.get(), &value);
    ExecLog::Position at = at_;
    std::vector<Chunk> chunks = COVE_TRY(exec_->log_.read(at, most));
    {
      std::lock_guard lock(exec_->mutex_);
      at_ = at;
    }
    if (!chunks.empty()) {
      exec_->follower_moved();
      wake();  // there may be more
    }
    return chunks;
  }
  bool at_end() const override { return exec_->ended() && at_.seq >= exec_->log_.next_seq(); }
  int fd() const override { return wake_.get(); }

  void wake() const { ::eventfd_write(wake_.get(), 1); }
  uint64_t offset() const { return at_.offset; }

 private:
  std::shared_ptr<LiveExec> exec_;
  ExecLog::Position at_;
  UniqueFd wake_;
};

LiveExec::LiveExec(const ExecTools& tools, Parts parts)
    : tools_(tools), parts_(std::move(parts)), log_(parts_.log_path) {
  outputs_[1].stream = Stream::Err;
  if (parts_.mask)
    for (Output& output : outputs_) output.mask.emplace(parts_.mask);
  if (parts_.logs) share_.emplace(std::move(parts_.logs), parts_.log_path);
}

LiveExec::~LiveExec() {
  for (Output& output : outputs_) close(output);
}

Result<void> LiveExec::recover_log() {
  COVE_TRY(log_.recover());
  if (share_) share_->set(log_.kept());
  return {};
}

Result<void> LiveExec::begin(Attachment streams) {
  {
    std::lock_guard lock(mutex_);
    outputs_[0].fd = streams.terminal ? COVE_TRY(sys::dup(streams.terminal.get())) : std::move(streams.out);
    outputs_[1].fd = std::move(streams.err);
    for (Output& output : outputs_) COVE_TRY(watch(output));
    if (parts_.limits.timeout.value.count() > 0 && parts_.info.state == ExecState::Running) {
      auto gone_by = std::chrono::milliseconds(tools_.clock.now_ms() - parts_.info.started_ms);
      deadline_ = tools_.clock.now() + parts_.limits.timeout.value - gone_by;
      tools_.pump.wake_at(*deadline_, weak_from_this());
    }
  }
  std::lock_guard lock(input_mutex_);
  input_ = streams.terminal ? std::move(streams.terminal) : std::move(streams.in);
  if (input_) COVE_TRY(sys::set_nonblocking(input_.get()));
  return {};
}

Result<void> LiveExec::watch(Output& output) {
  if (!output.fd) return {};
  COVE_TRY(sys::set_nonblocking(output.fd.get()));
  int which = output.stream == Stream::Out ? 0 : 1;
  output.token = COVE_TRY(tools_.pump.watch(output.fd.get(), weak_from_this(), which));
  return {};
}

void LiveExec::close(Output& output) {
  if (!output.fd) return;
  tools_.pump.unwatch(output.token, output.fd.get());
  output.fd.reset();
}

bool LiveExec::readers_are_behind(uint64_t most) const {
  most = std::min(most, log_window() / 2);  // what they have not read must not be let go of
  return std::ranges::any_of(followers_, [&](const LiveFollower* follower) {
    return log_.end() > follower->offset() && log_.end() - follower->offset() > most;
  });
}

// One portion; false where there is nothing more now, or ever.
bool LiveExec::take(Output& output) {
  Result<std::optional<size_t>> taken =
      output.mask ? take_masked(output) : log_.take(output.stream, output.fd.get(), log_window());
  if (share_) share_->set(log_.kept());
  if (taken && *taken && **taken == 0) close(output);
  if (!taken) close(output);
  return taken && *taken && **taken > 0;
}

void LiveExec::on_ready(int which) {
  bool took = false;
  bool over = false;
  {
    std::lock_guard lock(mutex_);
    Output& output = outputs_[which];
    if (!output.fd) return;
    if (parts_.info.state == ExecState::Ended) return discard(output);
    if (!has_data(output.fd.get()) && !parts_.info.order.spec.pty) {
      show_rest(output);
      wake_followers();
      close(output);  // nothing in it and yet readable: its end
      return;
    }
    for (int i = 0; i < kMovesPerTurn && output.fd; ++i) {
      output.waiting = readers_are_behind(kMostBehind);
      if (output.waiting || !take(output)) break;
      took = true;
    }
    if (output.fd && !output.waiting) tools_.pump.rearm(output.token, output.fd.get());
    if (took) wake_followers();
    uint64_t most = parts_.limits.output.value;
    over = most > 0 && log_.bytes() > most && cause_ == Cause::None;
  }
  if (over) force_end(Cause::Output);
}

// What programs that outlive the exec still write goes nowhere, so that they can go on.
void LiveExec::discard(Output& output) {
  char buffer[65536];
  ssize_t count;
  while ((count = ::read(output.fd.get(), buffer, sizeof buffer)) > 0) {
  }
  if (count < 0 && errno == EAGAIN) return tools_.pump.rearm(output.token, output.fd.get());
  close(output);
  if (outputs_[0].fd || outputs_[1].fd) return;
  if (std::shared_ptr<ExecHost> host = parts_.host.lock())
    tools_.errands.add([host, id = parts_.info.id] { host->let_exec_go(id); });
}

void LiveExec::wake_followers() {
  for (const LiveFollower* follower : followers_) follower->wake();
}

void LiveExec::follower_moved() {
  std::lock_guard lock(mutex_);
  if (readers_are_behind(kCaughtUp)) return;
  for (Output& output : outputs_) {
    if (!output.fd || !output.waiting) continue;
    output.waiting = false;
    tools_.pump.rearm(output.token, output.fd.get());
  }
}

void LiveExec::on_time() {
  bool ask = false;
  {
    std::lock_guard lock(mutex_);
    if (parts_.info.state == ExecState::Ended) return;
    if (parts_.mask) show_what_waits();
    if (waiting_result_ || !deadline_ || tools_.clock.now() < *deadline_) return;
    ask = !asked_to_end_;
    asked_to_end_ = true;
    cause_ = Cause::Timeout;
    deadline_.reset();
    if (ask) {
      // Time is up: first asked, then forced.
      deadline_ = tools_.clock.now() + parts_.limits.grace.value;
      tools_.pump.wake_at(*deadline_, weak_from_this());
    }
  }
  if (!ask) return force_end(Cause::Timeout);
  tools_.errands.add([self = shared_from_this()] {
    static_cast<void>(self->signal(SIGTERM, true));
    static_cast<void>(self->signal(SIGCONT, true));
  });
}

void LiveExec::force_end(Cause cause) {
  {
    std::lock_guard lock(mutex_);
    if (cause_ == Cause::None) cause_ = cause;
  }
  tools_.errands.add([host = parts_.host, id = parts_.info.id] {
    if (std::shared_ptr<ExecHost> there = host.lock()) static_cast<void>(there->kill_exec(id));
  });
}

ExecResult LiveExec::draft() const {
  ExecResult result;
  result.exec_id = parts_.info.id;
  result.sandbox_id = parts_.info.sandbox_id;
  result.started_at = std::chrono::system_clock::time_point(std::chrono::milliseconds(parts_.info.started_ms));
  result.duration_ms = static_cast<double>(tools_.clock.now_us() - parts_.info.started_us) / 1000.0;
  result.limits = parts_.enforced;
  result.language = parts_.info.order.used;
  result.context_id = parts_.info.order.context;
  return result;
}

// The program has ended; orphans may still hold its pipes, and are not waited for.
void LiveExec::drain(Output& output) {
  while (output.fd && has_data(output.fd.get()))
    if (!take(output)) return;
}

void LiveExec::end(const ExecEnded& event) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended || waiting_result_) return;
  ExecResult result = draft();
  judge(result, event, cause_, parts_.limits);
  if (!parts_.ask_network) return conclude(std::move(result));
  waiting_result_ = std::move(result);
  deadline_.reset();
  parts_.ask_network([weak = weak_from_this()](NetworkUse use) {
    if (std::shared_ptr<LiveExec> self = weak.lock()) self->take_network_use(std::move(use));
  });
}

void LiveExec::take_network_use(NetworkUse use) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended || !waiting_result_) return;
  waiting_result_->usage.net_in_bytes = use.in_bytes;
  waiting_result_->usage.net_out_bytes = use.out_bytes;
  std::ranges::move(use.denials, std::back_inserter(waiting_result_->denials));
  conclude(*std::exchange(waiting_result_, std::nullopt));
}

void LiveExec::end(const ExecFailed& event) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended) return;
  if (event.exit_code == 125) {
    failure_ = event.error;
    if (parts_.mask)
      failure_ = Error(event.error.code(), parts_.mask->mask(event.error.message())).hint(event.error.hint());
    record_end("failed", ExecResult());
    return finished(0);
  }
  ExecResult result = draft();
  judge(result, event);
  conclude(std::move(result));
}

void LiveExec::end(ExecResult result) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended) return;
  for (Output& output : outputs_) show_rest(output);
  settle(std::move(result));
}

void LiveExec::end_unknown(const std::string& why) {
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended) return;
  if (waiting_result_) return conclude(*std::exchange(waiting_result_, std::nullopt));
  ExecResult result = draft();
  result.status = ExecStatus::Killed;
  result.signal = SIGKILL;
  result.why = why;
  conclude(std::move(result));
}

void LiveExec::conclude(ExecResult result) {
  if (!parts_.info.order.placed.empty()) result.why = concat(parts_.info.order.placed, "; ", result.why);
  for (Output& output : outputs_) {
    drain(output);
    show_rest(output);
  }
  Result<ExecLog::Captured> captured = log_.capture(parts_.limits.retained.value);
  if (captured) {
    result.out = std::move(captured->out);
    result.err = std::move(captured->err);
    note_reported_limits(result, parts_.limits);
  }
  settle(std::move(result));
}

void LiveExec::settle(ExecResult result) {
  const double seconds = result.duration_ms / 1000;
  parts_.info.result = masked(std::move(result));
  record_end(status_name(parts_.info.result->status), *parts_.info.result);
  finished(seconds);
}

void LiveExec::record_end(const std::string& status, const ExecResult& result) {
  const Usage& usage = result.usage;
  ExecInfo& info = parts_.info;
  info.ended_ms = tools_.clock.now_ms();
  info.next_seq = log_.next_seq();
  ExecRecord record = record_of(info);
  record.state = kExecEnded;
  Json data = {{"status", status},
               {"duration_ms", info.ended_ms - info.started_ms},
               {"cpu_user_ms", usage.cpu_user_ms},
               {"cpu_system_ms", usage.cpu_system_ms},
               {"memory_peak_bytes", usage.memory_peak_bytes},
               {"disk_written_bytes", usage.disk_written_bytes},
               {"io_read_bytes", usage.io_read_bytes},
               {"io_write_bytes", usage.io_write_bytes},
               {"output_bytes", log_.bytes()}};
  if (!info.order.session.empty()) data["session"] = info.order.session;
  if (result.exit_code) data["exit_code"] = *result.exit_code;
  if (result.signal) data["signal"] = *result.signal;
  std::vector<EventDraft> events;
  EventDraft event{"exec.ended", parts_.project, info.sandbox_id, info.id, parts_.actor, data.dump(), info.ended_ms};
  if (status == "timeout" || status == "oom_killed" || status == "limit_exceeded") {
    events.push_back(event);
    events.back().kind = "limit.hit";
  }
  events.push_back(std::move(event));
  static_cast<void>(tools_.store.end_exec(record, usage_record(status, usage), events));
  if (share_) share_->set_record(record.spec.size() + record.result.size());
  crash_point("engine.exec.ended");
}

UsageRecord LiveExec::usage_record(const std::string& status, const Usage& usage) const {
  const ExecInfo& info = parts_.info;
  UsageRecord record{.project = parts_.project,
                     .sandbox_id = info.sandbox_id,
                     .session = info.order.session,
                     .exec_id = info.id,
                     .context_id = info.order.context,
                     .status = status,
                     .started_ms = info.started_ms,
                     .ended_ms = info.ended_ms,
                     .figures = {}};
  record.figures = {.duration_ms = static_cast<uint64_t>(std::max<int64_t>(info.ended_ms - info.started_ms, 0)),
                    .cpu_user_ms = usage.cpu_user_ms,
                    .cpu_system_ms = usage.cpu_system_ms,
                    .memory_peak_bytes = usage.memory_peak_bytes,
                    .disk_written_bytes = usage.disk_written_bytes,
                    .io_read_bytes = usage.io_read_bytes,
                    .io_write_bytes = usage.io_write_bytes,
                    .net_in_bytes = usage.net_in_bytes,
                    .net_out_bytes = usage.net_out_bytes,
                    .output_bytes = log_.bytes()};
  return record;
}

void LiveExec::finished(double seconds) {
  parts_.info.state = ExecState::Ended;
  deadline_.reset();
  // Whoever is writing sees the end and closes it himself.
  if (std::unique_lock input_lock(input_mutex_, std::try_to_lock); input_lock) input_.reset();
  share_.reset();
  tools_.ended(parts_.info, seconds);
  for (Output& output : outputs_) {
    output.waiting = false;
    if (!output.fd) continue;
    // A terminal ends with its program; from a pipe that orphans hold, their output is taken and dropped.
    if (parts_.info.order.spec.pty || !orphans_hold(output.fd.get()))
      close(output);
    else
      tools_.pump.rearm(output.token, output.fd.get());
  }
  if (!outputs_[0].fd && !outputs_[1].fd) {
    tools_.errands.add_for_later([host = parts_.host, id = parts_.info.id] {
      if (std::shared_ptr<ExecHost> there = host.lock()) there->let_exec_go(id);
    });
  }
  // Last, because whoever is woken wants this processor.
  for (const UniqueFd& fd : end_fds_) ::eventfd_write(fd.get(), 1);
  end_fds_.clear();
  wake_followers();
}

ExecInfo LiveExec::info() const {
  std::lock_guard lock(mutex_);
  ExecInfo info = parts_.info;
  info.next_seq = log_.next_seq();
  return info;
}

void LiveExec::retag(const std::string& tag) {
  std::lock_guard lock(mutex_);
  parts_.info.order.tag = tag;
}

bool LiveExec::ended() const {
  std::lock_guard lock(mutex_);
  return parts_.info.state == ExecState::Ended;
}

std::optional<Error> LiveExec::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Result<std::unique_ptr<Follower>> LiveExec::follow(uint64_t from_seq) {
  ExecLog::Position at = COVE_TRY(log_.find(from_seq));
  auto follower = std::make_unique<LiveFollower>(shared_from_this(), at, COVE_TRY(make_eventfd()));
  std::lock_guard lock(mutex_);
  followers_.push_back(follower.get());
  follower->wake();
  return follower;
}

Result<UniqueFd> LiveExec::end_fd() {
  UniqueFd fd = COVE_TRY(make_eventfd());
  std::lock_guard lock(mutex_);
  if (parts_.info.state == ExecState::Ended)
    ::eventfd_write(fd.get(), 1);
  else
    end_fds_.push_back(COVE_TRY(sys::dup(fd.get())));
  return fd;
}

Result<std::shared_ptr<ExecHost>> LiveExec::host() const {
  std::shared_ptr<ExecHost> there = parts_.host.lock();
  if (!there || ended()) return fail(conflict(concat("exec ", parts_.info.id, " has ended")));
  return there;
}

Result<void> LiveExec::signal(int number, bool group) {
  std::shared_ptr<ExecHost> there = COVE_TRY(host());
  return there->signal_exec(parts_.info.id, number, group ? SignalReach::Group : SignalReach::Process);
}

Result<void> LiveExec::resize(WindowSize size) {
  if (!parts_.info.order.spec.pty) return fail(conflict(concat("exec ", parts_.info.id, " has no terminal")));
  std::shared_ptr<ExecHost> there = COVE_TRY(host());
  return there->resize_exec(parts_.info.id, size);
}

Result<void> LiveExec::kill() {
  UniqueFd end = COVE_TRY(end_fd());
  if (ended()) return {};
  {
    std::lock_guard lock(mutex_);
    if (cause_ == Cause::None) cause_ = Cause::Killed;
  }
  Result<std::shared_ptr<ExecHost>> there = host();
  if (!there) return {};
  Result<void> killed = (*there)->kill_exec(parts_.info.id);
  if (!killed && killed.error().code() != Code::NotFound) return killed;
  pollfd polled = {end.get(), POLLIN, 0};
  if (::poll(&polled, 1, static_cast<int>(kKillPatience.count())) > 0) return {};
  return fail(Code::Unavailable, concat("exec ", parts_.info.id, " was killed and does not end"));
}

}  // namespace cove::engine
