// Taking over from an earlier server.
#include <stdio.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "engine/live_engine.h"
#include "engine/record_codec.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr const char* kLost = "its sandbox had ended when the server came back";

constexpr const char* kCodeLost = "the server was killed while it ran in its context";

EventDraft found_stopped(const SandboxInfo& info) {
  return {"sandbox.failed", info.project, info.spec.id, "", "server", "{\"reason\":\"found ended\"}", 0};
}

}  // namespace

Result<void> LiveEngine::recover() {
  for (const char* folder : {"/logs", "/bases"})
    COVE_TRY(sys::make_folders(concat(config_.server_folder, folder), 0700));
  COVE_TRY_NOTE("move the records of workspaces", move_bases());
  COVE_TRY(operations_.interrupt_lost());
  std::vector<std::string> known;
  for (const SandboxRecord& record : COVE_TRY(store_->all_sandboxes())) {
    known.push_back(record.id);
    COVE_TRY_NOTE(concat("recover sandbox ", record.id), recover_sandbox(record));
  }
  for (const std::string& name : COVE_TRY(sys::list_folder(concat(config_.server_folder, "/bases"))))
    if (std::ranges::find(known, name) == known.end()) remove_base(name);
  // Before anybody is served: a sandbox that was made meanwhile would be taken for one that was left half-made.
  static_cast<void>(runtime_->sweep(known));
  COVE_TRY(recover_removed(known));
  std::ranges::sort(known);
  for (const std::string& name : COVE_TRY(sys::list_folder(concat(config_.server_folder, "/logs"))))
    if (!std::ranges::binary_search(known, name)) remove_logs(name);
  EventDraft event;
  event.kind = "server.started";
  event.actor = "server";
  COVE_TRY(store_->append_events({&event, 1}));
  return {};
}

// They were kept among the logs of their sandbox.
Result<void> LiveEngine::move_bases() const {
  for (const std::string& sandbox : COVE_TRY(sys::list_folder(concat(config_.server_folder, "/logs")))) {
    const std::string from = concat(config_.server_folder, "/logs/", sandbox, "/base");
    if (!sys::exists(from)) continue;
    if (::rename(from.c_str(), base_path(sandbox).c_str()) < 0) return fail_errno(concat("rename ", from));
  }
  return {};
}

// Sandboxes that are gone, but not their execs.
Result<void> LiveEngine::recover_removed(std::vector<std::string>& known) {
  for (const RemovedSandbox& sandbox : COVE_TRY(store_->removed_sandboxes())) {
    known.push_back(sandbox.id);
    kept_execs_.add(sandbox);
  }
  return {};
}

Result<void> LiveEngine::recover_sandbox(const SandboxRecord& record) {
  SandboxInfo info = COVE_TRY(info_of(record));
  Shared sandbox = make_live(info);
  COVE_TRY(recover_state(sandbox, std::move(info)));
  std::vector<LogBudget::Record> execs;
  for (auto& [id, bytes] : COVE_TRY(store_->sizes_of_ended_execs(record.id))) execs.push_back({std::move(id), bytes});
  sandbox->logs().recover(concat(config_.server_folder, "/logs/", record.id), execs);
  return {};
}

Result<void> LiveEngine::recover_state(const Shared& sandbox, SandboxInfo info) {
  const State was = info.state;
  admission_.count(info.project, info.spec.limits,
                   was == State::Stopped ? Admission::Memory::Unused : Admission::Memory::Used);
  add(sandbox);
  Result<void> adopted = adopt(sandbox, info);
  if (adopted && was != State::Stopped) {
    Result<void> set = was == State::Paused ? sandbox->freeze() : sandbox->thaw();
    static_cast<void>(set);  // where groups are missing there is nothing to set
    return {};
  }
  if (adopted) {
    // It was being started, and nobody was told.
    networks_.end(sandbox->id());
    std::unique_ptr<Sandbox> handle = sandbox->give_handle(kLost);
    return handle ? handle->destroy(Files::Keep) : Result<void>();
  }
  if (runtime_->lost()) return adopted;
  end_lost_execs(info, {}, kLost);
  if (was == State::Stopped) return {};
  admission_.give_memory(info.project, info.spec.limits.memory.value);
  info.state = State::Stopped;
  info.reason = concat("it had ended when the server came back: ", adopted.error().message());
  info.expires_ms = 0;
  EventDraft event = found_stopped(info);
  COVE_TRY(store_->update_sandbox(record_of(info), {&event, 1}));
  sandbox->set_info(std::move(info));
  return {};
}

Result<void> LiveEngine::adopt(const Shared& sandbox, SandboxInfo info) {
  SandboxSpec spec = info.spec;
  spec.env.clear();
  std::unique_ptr<Sandbox> handle = COVE_TRY(runtime_->adopt(spec));
  // Without a network, rather than not at all: nothing gets out of it then.
  if (Result<void> begun = begin_network(info, *handle); !begun)
    log::warning("a sandbox has no network", {{"sandbox", spec.id}, {"why", begun.error().message()}});
  std::vector<std::string> known = handle->adopted_execs();
  std::vector<LiveExec::Parts> execs = adoptable_execs(info, known);
  std::set<std::string> adopted;
  for (const LiveExec::Parts& parts : execs) adopted.insert(parts.info.id);
  // Those that the store does not know were never acknowledged.
  for (const std::string& id : known)
    if (!adopted.contains(id)) static_cast<void>(handle->kill(id)), handle->forget(id);
  end_lost_execs(info, adopted, "the server was killed before it could be started");
  Result<void> taken = sandbox->adopt(std::move(handle), std::move(execs));
  static_cast<void>(taken);  // an exec whose streams are gone ends by its own event
  return {};
}

std::vector<LiveExec::Parts> LiveEngine::adoptable_execs(const SandboxInfo& info,
                                                         const std::vector<std::string>& known) {
  std::vector<LiveExec::Parts> execs;
  for (const std::string& id : known) {
    Result<ExecRecord> record = store_->find_exec(info.spec.id, id);
    if (!record) continue;
    Result<ExecInfo> exec = info_of(*record);
    if (!exec) continue;
    Caller caller;
    LiveExec::Parts parts = parts_of(caller, info, exec->order);
    parts.limits = exec->order.limits;
    parts.log_path = log_path(info.spec.id, id);
    if (exec->state == ExecState::Running) parts.ask_network = ask_network(info, exec->order);
    parts.info = std::move(*exec);
    parts.mask = secrets_->mask_of(info, parts.info.order);
    execs.push_back(std::move(parts));
  }
  return execs;
}

void LiveEngine::end_lost_execs(const SandboxInfo& info, const std::set<std::string>& adopted, const std::string& why) {
  Result<std::vector<ExecRecord>> running = store_->running_execs(info.spec.id);
  if (!running) return;
  for (const ExecRecord& record : *running) {
    if (adopted.contains(record.id)) continue;
    Result<ExecInfo> exec = info_of(record);
    if (!exec) continue;
    const std::string context = exec->order.context;
    LiveExec::Parts parts = parts_of(Caller(), info, exec->order);
    parts.log_path = log_path(info.spec.id, record.id);
    parts.limits = exec->order.limits;
    parts.info = std::move(*exec);
    auto lost = std::make_shared<LiveExec>(tools_, std::move(parts));
    static_cast<void>(lost->recover_log());
    lost->end_unknown(context.empty() ? why : kCodeLost);
  }
}

}  // namespace cove::engine
