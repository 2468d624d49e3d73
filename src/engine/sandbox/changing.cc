// Changing sandboxes.
#include "base/text.h"
#include "engine/live_engine.h"
#include "model/limit_fields.h"
#include "model/runtime_kind.h"

namespace cove::engine {
namespace {

// To a control group that exists, 0 is not none, but nothing at all.
Result<void> refuse_lifting(const Limits& limits) {
  std::string_view lifted = lifted_limit(limits);
  if (lifted.empty()) return {};
  return fail(Error(Code::Conflict,
                    concat("the limit '", lifted, "' of a running sandbox can be changed, but not taken away (0)"))
                  .hint("stop it first"));
}

// What a control group, or a folder, is given once cannot be changed under programs that run.
Result<void> check_running(const Capabilities& can, const Limits& wanted) {
  if (!can.update_limits)
    return fail(
        Error(Code::Unsupported, concat("the runtime ", can.name, " cannot change the limits of a running sandbox"))
            .hint("stop it first"));
  bool fixed = false;
  visit_limits([&](const LimitField& field,
                   const auto& limit) { fixed = fixed || (limit.named && field.change == LimitChange::WhileStopped); },
               wanted);
  if (fixed)
    return fail(
        Error(Code::Conflict, "the limits on the disk of a running sandbox cannot be changed").hint("stop it first"));
  return refuse_lifting(wanted);
}

// Files that are there stay where they are, with what holds them.
Result<void> check_stopped(const SandboxInfo& info, const Limits& wanted) {
  if (!wanted.disk.named || wanted.disk.value == 0 || info.started_ms == 0) return {};
  const std::string attempt = concat("limit disk to ", format_bytes(wanted.disk.value), ": ");
  if (is_engine_runtime(info.spec.runtime))
    return fail(Error(Code::Unsupported, concat(attempt, "the disk limit of an engine's container cannot be changed"))
                    .hint("create another sandbox with this limit"));
  auto held = info.enforced.find("disk");
  if (held != info.enforced.end() && held->second.enforced_by != "nothing") return {};
  return fail(
      Error(Code::Unsupported, concat(attempt, "nothing can enforce it for the files of this sandbox"))
          .hint("create another sandbox with this limit, where Cove runs as root and btrfs-progs is installed"));
}

// Those that are named in `which`, of these, where there are any.
Limits of_those(const Limits& which, const Limits& values) {
  Limits taken = which;
  visit_limits(
      [](const LimitField& field, auto& limit, const auto& value) {
        const bool none = to_number(value.value) == 0 && field.zero != LimitZero::Nothing;
        limit.named = limit.named && !none;
        limit.value = value.value;
      },
      taken, values);
  return taken;
}

Admission::Memory memory_of(const SandboxInfo& info) {
  return info.state == State::Stopped ? Admission::Memory::Unused : Admission::Memory::Used;
}

void tell_enforced(SandboxInfo& info, const Limits& changed) {
  auto tell = [&](const LimitField& field, const auto& wanted, const auto& now) {
    if (!wanted.named || field.change != LimitChange::Anytime || field.of == LimitOf::Exec) return;
    const std::string name(field.name);
    const bool none = to_number(now.value) == 0 && field.zero == LimitZero::Unlimited;
    if (none)
      info.enforced.erase(name);
    else if (info.enforced.contains(name))
      info.enforced[name].value = limit_text(field, now.value);
    else if (to_number(now.value) > 0)
      info.enforced[name] = {limit_text(field, now.value), field.of == LimitOf::Process ? "rlimit" : "cgroup"};
  };
  visit_limits(tell, changed, info.spec.limits);
}

}  // namespace

Result<SandboxInfo> LiveEngine::renew(const Caller& caller, const std::string& name,
                                      std::optional<std::chrono::milliseconds> idle,
                                      std::optional<std::chrono::milliseconds> max) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  sandbox->touch();
  SandboxInfo info = sandbox->info();
  if (idle) info.lifecycle.idle = *idle;
  if (max) info.lifecycle.max = *max;
  if (info.state == State::Running || info.state == State::Paused) count_expiry(info, clock_->now_ms());
  COVE_TRY(record(caller, *sandbox, info, "sandbox.renewed"));
  return sandbox->info();
}

// For the quotas first, then for what runs in it. Until the change is on record it can be taken back.
Result<void> LiveEngine::change_limits(LiveSandbox& sandbox, SandboxInfo& info, const Limits& changed) {
  COVE_TRY(sandbox.has_handle() ? check_running(runtime_->capabilities_of(info.spec.runtime), changed)
                                : check_stopped(info, changed));
  const Limits before = info.spec.limits;
  take_named(info.spec.limits, changed);
  const Admission::Memory memory = memory_of(info);
  COVE_TRY(admission_.change(info.project, COVE_TRY(quotas_of(info.project)), before, info.spec.limits, memory));
  tell_enforced(info, changed);
  Result<void> done = sandbox.has_handle() ? sandbox.update_limits(changed) : Result<void>();
  if (done) return {};
  admission_.change_back(info.project, before, info.spec.limits, memory);
  return fail(std::move(done.error()).note(concat("change the limits of sandbox ", sandbox.id())));
}

void LiveEngine::change_limits_back(LiveSandbox& sandbox, const SandboxInfo& changed, const Limits& wanted) {
  const Limits before = sandbox.info().spec.limits;
  const Admission::Memory memory = memory_of(changed);
  admission_.change_back(changed.project, before, changed.spec.limits, memory);
  if (sandbox.has_handle()) static_cast<void>(sandbox.update_limits(of_those(wanted, before)));
}

Result<SandboxInfo> LiveEngine::update(const Caller& caller, const std::string& name, const UpdateOrder& order) {
  Shared sandbox = COVE_TRY(look_up(caller, name, Scope::Run));
  std::lock_guard lock(sandbox->changing);
  SandboxInfo info = sandbox->info();
  const std::string old_name = info.spec.name;
  if (order.labels) info.spec.labels = *order.labels;
  if (order.env) info.spec.env = *order.env;
  if (order.idle) info.lifecycle.idle = *order.idle;
  if (order.max) info.lifecycle.max = *order.max;
  if (order.max && info.state != State::Stopped) count_expiry(info, clock_->now_ms());
  if (order.on_expire) info.lifecycle.on_expire = *order.on_expire;
  if (order.auto_resume) info.lifecycle.auto_resume = *order.auto_resume;
  if (order.name) info.spec.name = *order.name;
  // Told before anything is changed; the record has the last word.
  if (!info.spec.name.empty() && info.spec.name != old_name) {
    std::shared_lock names(mutex_);
    if (by_name_.contains({info.project, info.spec.name}))
      return fail(Error(Code::Exists, concat("the name '", info.spec.name, "' is taken"))
                      .hint("choose another name, or delete the sandbox that has it"));
  }
  const NetworkPolicy network = changed(info.spec.network, order.network.value_or(NetworkChange()));
  if (order.network) COVE_TRY(check_network_change(caller, info, network));
  if (order.limits) COVE_TRY(check_limits(caller, config_.maxima, *order.limits));
  if (order.limits) COVE_TRY(change_limits(*sandbox, info, *order.limits));
  Result<void> recorded = record(caller, *sandbox, info, "sandbox.updated");
  if (!recorded) {
    if (order.limits) change_limits_back(*sandbox, info, *order.limits);
    return std::unexpected(recorded.error());
  }
  if (info.spec.name != old_name) {
    std::unique_lock names(mutex_);
    by_name_.erase({info.project, old_name});
    if (!info.spec.name.empty()) by_name_[{info.project, info.spec.name}] = info.spec.id;
  }
  if (order.network) COVE_TRY(change_network(caller, *sandbox, network));
  return sandbox->info();
}

}  // namespace cove::engine
