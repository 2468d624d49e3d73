// What happens by itself: expiry, and keeping records short.
#include <unistd.h>

#include "base/text.h"
#include "engine/clock.h"
#include "engine/live_engine.h"

namespace cove::engine {
namespace {

constexpr std::chrono::milliseconds kTurn(250);
constexpr int kTurnsPerTouch = 8;
constexpr int kTurnsPerCheckpoint = 20;
constexpr int kTurnsPerPruning = 240;
constexpr int64_t kIdempotencyKept = 24 * 3600 * 1000;

std::string expiry_reason(const SandboxInfo& info, int64_t now) {
  if (info.expires_ms > 0 && now >= info.expires_ms) return "its time was over";
  return concat("it was not used for ", info.lifecycle.idle.count() / 1000, " s");
}

bool has_expired(const SandboxInfo& info, bool in_use, int64_t now) {
  if (info.state != State::Running && info.state != State::Paused) return false;
  if (info.expires_ms > 0 && now >= info.expires_ms) return true;
  bool counts_idle = info.lifecycle.idle.count() > 0 && info.state == State::Running && !in_use;
  return counts_idle && now - info.last_used_ms >= info.lifecycle.idle.count();
}

}  // namespace

void LiveEngine::start_housekeeping() {
  house_ = std::thread([this] { keep_house(); });
  pool_.start();
}

void LiveEngine::keep_house() {
  std::unique_lock lock(house_mutex_);
  for (int turn = 1; !stopping_; ++turn) {
    house_wake_.wait_for(lock, kTurn, [this] { return stopping_; });
    if (stopping_) return;
    lock.unlock();
    for (const Shared& sandbox : all()) expire(sandbox);
    if (turn % kTurnsPerTouch == 0) persist_touches();
    if (turn % kTurnsPerCheckpoint == 0) static_cast<void>(store_->checkpoint());
    // First soon after the start: a server that is restarted often prunes, too.
    if (turn % kTurnsPerPruning == 1) prune_records();
    lock.lock();
  }
}

void LiveEngine::prune_records() {
  const int64_t now = now_ms();
  const Config::Retention& retention = config_.retention;
  static_cast<void>(store_->prune_idempotency(now - kIdempotencyKept));
  if (retention.events.count() > 0) static_cast<void>(store_->prune_events(now - retention.events.count(), 0));
  if (retention.usage.count() > 0) static_cast<void>(store_->prune_usage(now - retention.usage.count()));
  if (retention.operations.count() > 0) operations_.prune(now - retention.operations.count());
  kept_execs_.drop_before(now - retention.execs.count());
  for (const Shared& sandbox : all()) prune_execs(sandbox);
}

void LiveEngine::prune_execs(const Shared& sandbox) {
  Result<std::vector<std::string>> pruned = store_->prune_execs(sandbox->id(), config_.exec_retention);
  if (!pruned) return;
  for (const std::string& exec : *pruned) {
    const std::string path = log_path(sandbox->id(), exec);
    ::unlink(path.c_str());
    sandbox->logs().forget(path);
  }
}

void LiveEngine::expire(const Shared& sandbox) {
  if (!has_expired(sandbox->info(), sandbox->in_use(), now_ms())) return;
  std::unique_lock lock(sandbox->changing, std::try_to_lock);
  if (!lock) return;
  SandboxInfo info = sandbox->info();
  int64_t now = now_ms();
  if (!has_expired(info, sandbox->in_use(), now)) return;
  Caller server;
  std::string reason = expiry_reason(info, now);
  switch (info.lifecycle.on_expire) {
    case OnExpire::Delete:
      static_cast<void>(remove_locked(server, sandbox, "sandbox.expired"));
      return;
    case OnExpire::Pause:
      if (info.state == State::Paused) {
        info.expires_ms = 0;
        sandbox->set_info(std::move(info));
        return;
      }
      info.expires_ms = 0;
      sandbox->set_info(info);
      if (pause_locked(server, *sandbox, reason)) return;
      [[fallthrough]];  // what cannot be paused here is stopped
    case OnExpire::Stop:
      static_cast<void>(stop_locked(server, *sandbox, std::chrono::milliseconds(0), reason, "sandbox.expired"));
      return;
  }
}

// When a sandbox was last used changes with every call: it is written down now and then.
void LiveEngine::persist_touches() {
  for (const Shared& sandbox : all()) {
    int64_t used = sandbox->last_used_ms();
    int64_t& recorded = touched_[sandbox->id()];
    if (recorded == used) continue;
    recorded = used;
    static_cast<void>(store_->touch_sandbox(sandbox->id(), used, sandbox->info().expires_ms));
  }
}

}  // namespace cove::engine
