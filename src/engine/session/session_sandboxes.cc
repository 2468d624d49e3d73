// What happens to sessions by itself: those that nobody uses end, and what a killed server left is removed.
#include "base/log.h"
#include "base/text.h"
#include "engine/record_codec.h"
#include "engine/session/sessions.h"

namespace cove::engine {
namespace {

constexpr std::chrono::milliseconds kTurn(250);
constexpr int kTurnsPerSearch = 20;
constexpr int kTurnsPerPruning = 240;

}  // namespace

std::unique_ptr<Sessions> Sessions::open(Engine& engine) {
  std::unique_ptr<Sessions> sessions(new Sessions(engine));
  // Before there is anybody who could call.
  if (Result<std::vector<SandboxRecord>> all = engine.store().all_sandboxes())
    for (SandboxRecord& record : *all)
      if (record.binding.starts_with(kCallBinding)) sessions->calls_.push_back(std::move(record));
  sessions->house_ = std::thread([raw = sessions.get()] { raw->keep_house(); });
  return sessions;
}

Sessions::~Sessions() { stop(); }

void Sessions::stop() {
  {
    std::lock_guard lock(house_mutex_);
    stopping_ = true;
  }
  house_wake_.notify_all();
  if (house_.joinable()) house_.join();
}

void Sessions::keep_house() {
  remove_calls();
  std::unique_lock lock(house_mutex_);
  for (int turn = 0; !stopping_; ++turn) {
    lock.unlock();
    expire();
    if (turn % kTurnsPerSearch == 0) remove_orphans();
    int64_t kept = engine_.config().retention.events.count();
    if (turn % kTurnsPerPruning == 0 && kept > 0)
      static_cast<void>(store_.prune_sessions(engine_.clock().now_ms() - kept));
    lock.lock();
    if (!stopping_) engine_.clock().wait_until(house_wake_, lock, engine_.clock().now() + kTurn);
  }
}

void Sessions::expire() {
  Result<std::vector<SessionRecord>> idle = store_.idle_sessions(engine_.clock().now_ms());
  if (!idle) return;
  for (const SessionRecord& record : *idle) expire(record);
}

void Sessions::expire(const SessionRecord& record) {
  Result<SessionInfo> session = info_of(record);
  if (!session || used_since(*session)) return;
  Store::SessionEnd end = {concat("it was not used for ", record.idle_ms / 1000, " s"), engine_.clock().now_ms(),
                           record.last_used_ms};
  Result<void> ended = end_now(server_in(record.project), *session, end);
  if (!ended && ended.error().code() != Code::NotFound)
    log::warning("a session could not be ended", {{"session", record.id}, {"why", ended.error().message()}});
}

// Uses that the record does not know of: an exec that somebody waits for, in the sandbox or on the host, or its end;
// the sandbox's files, where the sandbox is the session's own.
bool Sessions::used_since(const SessionInfo& session) {
  int64_t used = store_.last_end_in_session(session.id).value_or(0);
  for (const ExecRecord& record : store_.running_execs_of_session(session.id).value_or(std::vector<ExecRecord>())) {
    Result<ExecInfo> exec = info_of(record);
    if (exec && !exec->order.detached) used = engine_.clock().now_ms();
  }
  if (host_execs_.serves(session.id)) used = engine_.clock().now_ms();
  if (session.order.scope == SessionScope::Session && !session.sandbox_id.empty())
    if (Result<SandboxInfo> sandbox = engine_.find(server_in(session.project), session.sandbox_id))
      used = std::max(used, sandbox->last_used_ms);
  if (used <= session.last_used_ms) return false;
  static_cast<void>(store_.touch_session(session.id, used));
  return true;
}

void Sessions::remove_calls() {
  for (const SandboxRecord& record : std::exchange(calls_, {})) remove_bound(record);
}

std::vector<std::shared_ptr<Exec>> Sessions::followed_execs() {
  std::vector<std::shared_ptr<Exec>> execs;
  for (const SandboxRecord& record : store_.all_sandboxes().value_or(std::vector<SandboxRecord>())) {
    if (!record.binding.starts_with(kStreamBinding)) continue;
    const Caller server = server_in(record.project);
    Result<Page<ExecInfo>> running = engine_.list_execs(server, record.id, {ExecState::Running, ""}, "", 1);
    if (!running || running->items.empty()) continue;
    Result<std::shared_ptr<Exec>> exec = engine_.find_exec(server, record.id, running->items[0].id, Scope::Run);
    if (exec) execs.push_back(std::move(*exec));
  }
  return execs;
}

void Sessions::remove_orphans() {
  Result<std::vector<SandboxRecord>> orphans = store_.orphaned_sandboxes();
  if (!orphans) return;
  for (const SandboxRecord& record : *orphans) {
    Turns::Turn turn = turns_.take(concat(record.project, "/", record.binding));
    remove_bound(record);
  }
}

void Sessions::remove_bound(const SandboxRecord& record) {
  Result<void> removed = engine_.remove(server_in(record.project), record.id);
  if (!removed && removed.error().code() != Code::NotFound)
    log::warning("a sandbox that nobody needs could not be removed",
                 {{"sandbox", record.id}, {"why", removed.error().message()}});
}

}  // namespace cove::engine
