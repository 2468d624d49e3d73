#include "engine/sandbox/live_sandbox.h"

#include <csignal>

#include "base/crash_point.h"
#include "base/text.h"
#include "engine/pool/warm_pool.h"
#include "engine/record_codec.h"
#include "model/language.h"
#include "model/limit_fields.h"
#include "run/environment.h"
#include "sys/file.h"

namespace cove::engine {

// Holds the handle; on letting go it first takes what process 1 has said meanwhile, because the pump does not wait.
class LiveSandbox::HandleLock {
 public:
  explicit HandleLock(LiveSandbox& sandbox) : sandbox_(sandbox), lock_(sandbox.handle_mutex_) {}
  // For the pump: where somebody holds the handle, he is told that there is something to take.
  HandleLock(LiveSandbox& sandbox, std::try_to_lock_t)
      : sandbox_(sandbox), lock_(sandbox.handle_mutex_, std::defer_lock) {
    sandbox.missed_ = true;
    if (lock_.try_lock()) sandbox.missed_ = false;
  }
  ~HandleLock() {
    while (lock_) {
      sandbox_.take_events();
      if (sandbox_.token_ != 0) sandbox_.tools_.pump.rearm(sandbox_.token_, sandbox_.handle_->events_fd());
      std::optional<SandboxEnded> gone = std::exchange(sandbox_.gone_, std::nullopt);
      lock_.unlock();
      if (gone) sandbox_.on_gone_(sandbox_.shared_from_this(), *gone);
      if (!sandbox_.missed_.exchange(false) || !lock_.try_lock()) return;
    }
  }
  HandleLock(const HandleLock&) = delete;
  HandleLock& operator=(const HandleLock&) = delete;

 private:
  LiveSandbox& sandbox_;
  std::unique_lock<std::mutex> lock_;
};

LiveSandbox::LiveSandbox(const ExecTools& tools, SandboxInfo info, std::shared_ptr<LogBudget> logs, OnGone on_gone)
    : tools_(tools),
      id_(info.spec.id),
      project_(info.project),
      logs_(std::move(logs)),
      on_gone_(std::move(on_gone)),
      info_(std::move(info)),
      last_used_ms_(info_.last_used_ms) {}

LiveSandbox::~LiveSandbox() {
  if (handle_) tools_.pump.unwatch(token_, handle_->events_fd());
}

SandboxInfo LiveSandbox::info() const {
  std::lock_guard lock(mutex_);
  SandboxInfo info = info_;
  info.last_used_ms = in_use() ? tools_.clock.now_ms() : last_used_ms();
  return info;
}

void LiveSandbox::set_info(SandboxInfo info) {
  std::lock_guard lock(mutex_);
  info_ = std::move(info);
}

State LiveSandbox::state() const {
  std::lock_guard lock(mutex_);
  return info_.state;
}

void LiveSandbox::touch() { last_used_ms_.store(tools_.clock.now_ms(), std::memory_order_relaxed); }

std::shared_ptr<void> LiveSandbox::begin_use() {
  touch();
  ++uses_;
  return std::shared_ptr<void>(nullptr, [self = shared_from_this()](void*) {
    self->touch();
    --self->uses_;
  });
}

Result<void> LiveSandbox::take_handle(std::unique_ptr<Sandbox> handle) {
  std::lock_guard lock(handle_mutex_);
  token_ = COVE_TRY(tools_.pump.watch(handle->events_fd(), weak_from_this(), 0));
  handle_ = std::move(handle);
  gone_.reset();
  return {};
}

std::unique_ptr<Sandbox> LiveSandbox::give_handle(const std::string& why) {
  std::unique_ptr<Sandbox> handle;
  {
    std::lock_guard lock(handle_mutex_);
    if (handle_) tools_.pump.unwatch(token_, handle_->events_fd());
    token_ = 0;
    handle = std::move(handle_);
  }
  std::map<std::string, std::shared_ptr<LiveExec>> execs;
  {
    std::lock_guard lock(mutex_);
    execs.swap(execs_);
    waiting_.reset();
  }
  for (const auto& [id, exec] : execs) exec->end_unknown(why);
  attended_ = 0;
  return handle;
}

bool LiveSandbox::has_handle() const {
  std::lock_guard lock(handle_mutex_);
  return handle_ != nullptr;
}

Result<Sandbox*> LiveSandbox::handle(const HandleLock&) {
  if (handle_) return handle_.get();
  return fail(Code::Conflict, concat("sandbox ", id_, " is not running"));
}

void LiveSandbox::keep_waiting(Waiting waiting) {
  std::lock_guard lock(mutex_);
  waiting_ = std::move(waiting);
}

namespace {

// Python reads a script that names its encoding twice, which cannot be done with a pipe.
bool names_encoding(std::string_view script) {
  for (int line = 0; line < 2 && !script.empty(); ++line) {
    std::string_view text = script.substr(0, script.find('\n'));
    size_t mark = text.find('#');
    if (mark != std::string_view::npos && text.find("coding", mark) != std::string_view::npos) return true;
    script.remove_prefix(std::min(script.size(), text.size() + 1));
  }
  return false;
}

// Its words and variables, at most: some of these replace others. Where its language chooses the words, there are few.
size_t length_of_command(const ExecOrder& order, const SandboxSpec& sandbox, const Environment& secrets) {
  constexpr size_t kOfEach = sizeof(uint64_t) + 1;  // its length goes with it, and a variable has a =
  constexpr size_t kOfLanguage = 4096;
  constexpr size_t kOfPreviews = 512;
  size_t length = kOfLanguage + kOfPreviews;
  for (const std::vector<std::string>* words : {&order.spec.argv, &order.arguments})
    for (const std::string& word : *words) length += word.size() + kOfEach;
  const Environment base = base_environment(sandbox);
  for (const Environment* variables : {&base, &sandbox.env, &secrets, &order.spec.env})
    for (const auto& [name, value] : *variables) length += name.size() + value.size() + kOfEach;
  return length;
}

// Whatever else an exec is to have, a program that waits would have to have had when it was started.
bool fits(const ExecOrder& order, const LiveSandbox::Waiting& waiting, const SandboxSpec& sandbox,
          const Environment& secrets) {
  const ExecSpec& spec = order.spec;
  const bool same_place = spec.cwd.empty() && !spec.pty && (spec.user.empty() || spec.user == sandbox.user);
  if (!same_place || spec.no_network || !spec.compile.empty() || (order.input && order.input->size() > kLongestScript))
    return false;
  if (waiting.language.empty()) return length_of_command(order, sandbox, secrets) <= kLongestScript;
  return waiting_key(order) == waiting.language && order.beside.empty() && order.code.size() <= kLongestScript &&
         order.arguments.empty() && spec.env.empty() && sandbox.env.empty() && secrets.empty() && !spec.input &&
         !(order.language == kPython && names_encoding(order.code));
}

}  // namespace

std::optional<LiveSandbox::Waiting> LiveSandbox::take_waiting(const ExecOrder& order, const Environment& secrets) {
  std::optional<Waiting> waiting;
  {
    std::lock_guard lock(mutex_);
    if (!waiting_) return std::nullopt;
    waiting = std::exchange(waiting_, std::nullopt);
    if (fits(order, *waiting, info_.spec, secrets)) return waiting;
  }
  HandleLock lock(*this);
  dismiss(*waiting, lock);
  return std::nullopt;
}

bool LiveSandbox::has_waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.has_value();
}

void LiveSandbox::give_up_waiting(What what) {
  std::optional<Waiting> waiting;
  {
    std::lock_guard lock(mutex_);
    if (!waiting_ || (what == What::Interpreter && waiting_->language.empty())) return;
    waiting = std::exchange(waiting_, std::nullopt);
  }
  HandleLock lock(*this);
  dismiss(*waiting, lock);
}

void LiveSandbox::dismiss(const Waiting& waiting, const HandleLock&) {
  if (handle_) static_cast<void>(handle_->signal(waiting.exec_id, SIGKILL, SignalReach::Process));
}

void LiveSandbox::join(const std::shared_ptr<LiveExec>& exec, const std::string& id, bool attended) {
  std::lock_guard lock(mutex_);
  execs_.emplace(id, exec);
  attended_ += attended ? 1 : 0;
}

void LiveSandbox::part(const std::string& id, bool attended) {
  forget_exec(id);
  attended_ -= attended ? 1 : 0;
}

Result<std::shared_ptr<LiveExec>> LiveSandbox::start_waiting(LiveExec::Parts parts, Waiting waiting, Lot lot) {
  const bool attended = !parts.info.order.detached;
  const ExecRecord record = record_of(parts.info);
  parts.host = weak_from_this();
  parts.logs = logs_;
  auto exec = std::make_shared<LiveExec>(tools_, std::move(parts));
  // Its end is not taken before it is on record. If the server dies between the two, nobody was told of it, and the
  // next server ends it.
  HandleLock lock(*this);
  Sandbox* sandbox = COVE_TRY(handle(lock));
  join(exec, waiting.exec_id, attended);
  Result<void> begun = hand_over(*sandbox, waiting, lot);
  crash_point("engine.exec.sent");
  if (begun) begun = put_on_record(record, lot.start);
  if (begun) begun = exec->begin(std::move(waiting.streams));
  if (begun) return exec;
  part(waiting.exec_id, attended);
  static_cast<void>(sandbox->kill(waiting.exec_id));
  return std::unexpected(begun.error());
}

Result<void> LiveSandbox::put_on_record(const ExecRecord& exec, const EventDraft& start) {
  COVE_TRY(tools_.store.insert_exec(exec, {&start, 1}));
  crash_point("engine.exec.recorded");
  return {};
}

// All of its input goes into the pipe before it runs; where it has none, or no more, both ends of ours are closed.
Result<void> LiveSandbox::hand_over(Sandbox& sandbox, Waiting& waiting, const Lot& lot) {
  if (!waiting.language.empty()) return sandbox.give_script(waiting.exec_id, lot.script);
  if (lot.input && !lot.input->empty()) COVE_TRY(sys::write_all(waiting.streams.in.get(), *lot.input));
  const bool ends = lot.input || !lot.spec.input;
  if (ends) waiting.streams.in.reset();
  COVE_TRY(sandbox.give_command(lot.spec));
  // Only now: the program starts meanwhile. Where process 1 is gone, so is the program, and that is told.
  if (ends) static_cast<void>(sandbox.close_input(waiting.exec_id));
  return {};
}

Result<std::shared_ptr<LiveExec>> LiveSandbox::start_exec(LiveExec::Parts parts, ExecSpec spec,
                                                          std::optional<std::string> input) {
  const bool attended = !parts.info.order.detached;
  parts.host = weak_from_this();
  parts.logs = logs_;
  auto exec = std::make_shared<LiveExec>(tools_, std::move(parts));
  {
    HandleLock lock(*this);
    Sandbox* sandbox = COVE_TRY(handle(lock));
    join(exec, spec.id, attended);
    // Not fed by this process, which may be killed: only a terminal must be typed into.
    if (input && !spec.pty) spec.whole_input = std::exchange(input, std::nullopt);
    Result<Attachment> streams = sandbox->exec(spec);
    if (!streams) {
      part(spec.id, attended);
      return std::unexpected(streams.error());
    }
    crash_point("engine.exec.sent");
    COVE_TRY(exec->begin(std::move(*streams)));
  }
  if (input) exec->feed(std::move(*input));
  return exec;
}

// It is in use by whoever runs the code.
std::shared_ptr<LiveCode> LiveSandbox::start_code(LiveExec::Parts parts, std::shared_ptr<CodeControl> control) {
  parts.logs = logs_;
  const std::string id = parts.info.id;
  auto code = LiveCode::create(tools_, std::move(parts), std::move(control));
  join(code->exec(), id, false);
  return code;
}

Result<void> LiveSandbox::adopt(std::unique_ptr<Sandbox> handle, std::vector<LiveExec::Parts> execs) {
  std::lock_guard lock(handle_mutex_);
  handle_ = std::move(handle);
  // What process 1 has to say of them is taken when all are known.
  Result<void> adopted;
  for (LiveExec::Parts& parts : execs) {
    Result<void> one = adopt_exec(std::move(parts));
    if (!one) adopted = one;
  }
  token_ = COVE_TRY(tools_.pump.watch(handle_->events_fd(), weak_from_this(), 0));
  return adopted;
}

Result<void> LiveSandbox::adopt_exec(LiveExec::Parts parts) {
  std::string id = parts.info.id;
  const bool attended = parts.info.state == ExecState::Running && !parts.info.order.detached;
  parts.host = weak_from_this();
  parts.logs = logs_;
  auto exec = std::make_shared<LiveExec>(tools_, std::move(parts));
  COVE_TRY(exec->recover_log());
  join(exec, id, attended);
  return exec->begin(COVE_TRY(handle_->attach(id)));
}

void LiveSandbox::forget_exec(const std::string& exec) {
  std::lock_guard lock(mutex_);
  execs_.erase(exec);
}

std::shared_ptr<LiveExec> LiveSandbox::find_exec(const std::string& exec) const {
  std::lock_guard lock(mutex_);
  auto found = execs_.find(exec);
  return found == execs_.end() ? nullptr : found->second;
}

size_t LiveSandbox::running_execs() const {
  std::lock_guard lock(mutex_);
  return execs_.size();
}

void LiveSandbox::signal_all(int number) {
  std::vector<std::string> ids;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, exec] : execs_) ids.push_back(id);
  }
  for (const std::string& id : ids) static_cast<void>(signal_exec(id, number, SignalReach::Group));
}

Result<std::unique_ptr<View>> LiveSandbox::open_view(const std::string& user) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->open_view(user);
}

Result<NetworkSockets> LiveSandbox::open_network() {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->open_network();
}

Result<UniqueFd> LiveSandbox::dial(uint16_t port, Loopback loopback) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->dial(port, loopback);
}

Result<UniqueFd> LiveSandbox::ask_ports() {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->ask_ports();
}

Result<void> LiveSandbox::freeze() {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->pause();
}

Result<void> LiveSandbox::thaw() {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->resume();
}

Result<void> LiveSandbox::update_limits(const Limits& limits) {
  {
    HandleLock lock(*this);
    COVE_TRY(COVE_TRY(handle(lock))->update_limits(limits));
  }
  // What waits has the old ones already.
  bool old = false;
  visit_limits(
      [&](const LimitField& field, const auto& limit) { old = old || (limit.named && field.of == LimitOf::Process); },
      limits);
  if (old) give_up_waiting(What::Anything);
  return {};
}

Result<Stats> LiveSandbox::stats() {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->stats();
}

Result<void> LiveSandbox::signal_exec(const std::string& exec, int number, SignalReach reach) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->signal(exec, number, reach);
}

Result<void> LiveSandbox::resize_exec(const std::string& exec, WindowSize size) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->resize(exec, size);
}

Result<void> LiveSandbox::kill_exec(const std::string& exec) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->kill(exec);
}

Result<void> LiveSandbox::close_exec_input(const std::string& exec) {
  HandleLock lock(*this);
  return COVE_TRY(handle(lock))->close_input(exec);
}

void LiveSandbox::let_exec_go(const std::string& exec) {
  forget_exec(exec);
  HandleLock lock(*this);
  if (handle_) handle_->forget(exec);
}

void LiveSandbox::on_ready(int) {
  // Where somebody holds it, he takes the events when he lets go.
  HandleLock lock(*this, std::try_to_lock);
}

void LiveSandbox::take_events() {
  while (handle_) {
    Result<std::optional<Event>> event = handle_->next_event();
    if (event && !*event) return;
    if (event) {
      take_event(**event);
      if (!gone_) continue;
    } else {
      gone_ = SandboxEnded{event.error(), false};
    }
    tools_.pump.unwatch(token_, handle_->events_fd());
    token_ = 0;
    return;
  }
}

void LiveSandbox::take_event(const Event& event) {
  if (auto* end = std::get_if<SandboxEnded>(&event)) {
    gone_ = *end;
    return;
  }
  if (std::holds_alternative<ExecWaiting>(event)) return;
  const std::string& id = std::holds_alternative<ExecEnded>(event) ? std::get<ExecEnded>(event).exec_id
                                                                   : std::get<ExecFailed>(event).exec_id;
  std::shared_ptr<LiveExec> exec = find_exec(id);
  // An interpreter that was dismissed.
  if (!exec) handle_->forget(id);
  if (!exec || exec->ended()) return;
  if (!exec->info().order.detached) --attended_;
  touch();
  if (auto* ended = std::get_if<ExecEnded>(&event)) exec->end(*ended);
  if (auto* failed = std::get_if<ExecFailed>(&event)) exec->end(*failed);
}

}  // namespace cove::engine
