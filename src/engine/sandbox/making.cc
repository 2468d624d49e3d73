// Making sandboxes.
#include <climits>

#include "base/crash_point.h"
#include "base/id.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/live_engine.h"
#include "engine/network/policy_layers.h"
#include "engine/record_codec.h"
#include "engine/sandbox/review_base.h"
#include "image/catalogue.h"
#include "run/git_author.h"
#include "run/working_folder.h"
#include "runtime/oci/programs.h"

namespace cove::engine {
namespace {

// Limits that the caller did not name are the configuration's.
void complete(SandboxSpec& spec, const Limits& defaults) {
  take_defaults(spec.limits, defaults);
  if (spec.limits.disk.value == 0) spec.limits.disk.value = usual_disk(spec);
}

Result<std::string> settled_runtime(const SandboxSpec& spec, const Config& config) {
  return oci::settle_runtime(spec.runtime.empty() ? config.runtime : spec.runtime);
}

void take_image(const ImageConfig& config, SandboxSpec& spec) {
  spec.image_defaults = {config.env, config.entrypoint, config.cmd, config.cwd};
  if (spec.user.empty()) spec.user = user_of_image(config);
}

}  // namespace

Result<Config::Quotas> LiveEngine::quotas_of(const std::string& project) {
  ProjectRecord record = COVE_TRY(store_->find_project(project));
  Config::Quotas quotas = config_.quotas;
  Json json = Json::parse(record.quotas).value_or(Json());
  if (!json.is_object()) return quotas;
  auto take = [&](const char* name, uint64_t& quota) {
    if (json.contains(name) && json[name].is_number_unsigned()) quota = json[name].get<uint64_t>();
  };
  take("sandboxes", quotas.sandboxes);
  take("memory", quotas.memory);
  take("disk", quotas.disk);
  return quotas;
}

Result<std::optional<SandboxInfo>> LiveEngine::earlier_answer(const CreateOrder& order, const std::string& project) {
  std::optional<Idempotency> earlier = COVE_TRY(store_->find_idempotency(project, order.idempotency_key));
  if (!earlier) return std::optional<SandboxInfo>();
  if (earlier->request_hash != order.request_hash)
    return fail(Error(Code::Conflict, "this idempotency key was used for another request")
                    .hint("use a new key for each new request"));
  std::shared_lock lock(mutex_);
  auto found = by_id_.find(earlier->made);
  if (found == by_id_.end())
    return fail(Code::NotFound, concat("sandbox ", earlier->made, ", which this request made, is gone"));
  return std::optional(found->second->info());
}

Result<SandboxInfo> LiveEngine::create(const Caller& caller, CreateOrder order) {
  if (!caller.scopes.allow(Scope::Run) || !caller.only_sandbox.empty())
    return fail(Code::Denied, "making sandboxes needs the scope 'run'");
  COVE_TRY(check_limits(caller, config_.maxima, order.spec.limits));
  COVE_TRY(check_network(order.spec.network));
  COVE_TRY(net::check_policy(order.spec.network));
  if (!order.network_admitted) COVE_TRY(check_made(caller, order.spec.network, config_));
  if (has_network(order.spec.network))
    COVE_TRY(check_can_have_network(capabilities(COVE_TRY(settled_runtime(order.spec, config_)))));
  COVE_TRY(check_nesting(caller, order.spec));
  if (!order.secrets_granted) COVE_TRY(secrets_->check(caller, order.spec.agent, order.spec.secrets));
  if (order.idempotency_key.empty()) return make(caller, std::move(order));
  // The same request, sent again while the first is being worked on, waits for its outcome.
  std::pair key(caller.project, order.idempotency_key);
  {
    std::unique_lock lock(making_mutex_);
    made_.wait(lock, [&] { return !making_.contains(key); });
    making_.insert(key);
  }
  Result<std::optional<SandboxInfo>> earlier = earlier_answer(order, caller.project);
  Result<SandboxInfo> made = !earlier   ? std::unexpected(earlier.error())
                             : *earlier ? Result<SandboxInfo>(std::move(**earlier))
                                        : make(caller, std::move(order));
  {
    std::lock_guard lock(making_mutex_);
    making_.erase(key);
  }
  made_.notify_all();
  return made;
}

// Which image it is, to the byte, and what that says about users and variables. What is returned keeps it there.
Result<std::shared_ptr<void>> LiveEngine::settle_image(SandboxSpec& spec) {
  if (is_host_image(spec.image)) {
    if (spec.user.empty()) spec.user = SandboxSpec().user;
    return std::shared_ptr<void>();
  }
  if (runtime_->capabilities_of(spec.runtime).own_images) {
    take_image(COVE_TRY(runtime_->image(spec.runtime, spec.image)), spec);
    return std::shared_ptr<void>();
  }
  Result<Images::Use> found = images_->use(spec.image);
  if (!found) return fail(std::move(found).error().at("/image"));
  Images::Use use = std::move(*found);
  spec.image = use.reference;
  take_image(use.config, spec);
  return use.hold;
}

// The image, where it is left to the language; and what the sandbox will be used for first, as WarmPool::take wants it.
Result<std::optional<std::string>> LiveEngine::settle_language(CreateOrder& order) {
  std::optional<std::string> first_use;
  if (order.use_follows) first_use.emplace();
  if (order.language.name.empty()) return first_use;
  if (runtime_->capabilities_of(order.spec.runtime).own_images) {
    if (order.spec.image.empty()) order.spec.image = SandboxSpec().image;
    return first_use;
  }
  std::string image = order.spec.image;
  if (!image.empty() && !is_host_image(image)) image = COVE_TRY(images_->find_reference(image));
  LanguagePlan plan = COVE_TRY(languages_.plan(order.language, image));
  if (image.empty()) order.spec.image = plan.use.image;
  if (first_use) *first_use = waiting_key(plan.use);
  return first_use;
}

Result<SandboxInfo> LiveEngine::make(const Caller& caller, CreateOrder order) {
  const Clock::Time start = clock_->now();
  SandboxInfo info;
  order.spec.runtime = COVE_TRY(settled_runtime(order.spec, config_));
  std::optional<std::string> first_use = COVE_TRY(settle_language(order));
  std::shared_ptr<void> image = COVE_TRY(settle_image(order.spec));
  info.spec = order.spec;
  info.spec.lifetime = Lifetime::Long;
  complete(info.spec, config_.limits);
  info.project = caller.project;
  info.lifecycle = order.lifecycle;
  info.binding = order.binding;
  info.created_ms = info.last_used_ms = clock_->now_ms();
  Config::Quotas quotas = COVE_TRY(quotas_of(caller.project));
  const Admission::MissingDisk missing = admission_.missing_disk(caller.project, quotas, info.spec.limits);
  if (missing.project > 0) kept_execs_.give_way(caller.project, missing.project);
  if (missing.server > 0) kept_execs_.give_way("", missing.server);
  Result<void> entered = admission_.enter(caller.project, quotas, info.spec.limits, room_.read());
  if (!entered) {
    note(caller, "request.refused", "", "", Json({{"why", entered.error().message()}}).dump());
    return std::unexpected(entered.error());
  }
  std::optional<Blank> blank = order.start ? pool_.take(runtime_spec(info, caller), first_use) : std::nullopt;
  info.spec.id = blank ? blank->spec.id : make_id();
  if (!info.spec.name.empty()) {
    std::unique_lock lock(mutex_);
    auto [named, is_new] = by_name_.try_emplace({info.project, info.spec.name}, info.spec.id);
    if (!is_new) {
      admission_.leave(caller.project, info.spec.limits, Admission::Memory::Used);
      return fail(Error(Code::Exists, concat("project ", info.project, " has a sandbox '", info.spec.name, "' already"))
                      .hint(concat("it is ", named->second))
                      .at("/name"));
    }
  }
  Result<Shared> created = raise(caller, info, order, std::move(blank));
  if (!created) {
    if (info.spec.workspace.access == Access::Review) remove_base(info.spec.id);
    admission_.leave(caller.project, info.spec.limits, Admission::Memory::Used);
    std::unique_lock lock(mutex_);
    auto named = by_name_.find({info.project, info.spec.name});
    if (named != by_name_.end() && named->second == info.spec.id) by_name_.erase(named);
    return std::unexpected(created.error());
  }
  create_seconds_.add(std::chrono::duration<double>(clock_->now() - start).count());
  crash_point("engine.create.acknowledged");
  return (*created)->info();
}

// What is in the folder before anything in the sandbox can have changed what it sees of it. It goes with the sandbox.
Result<std::vector<std::string>> LiveEngine::record_base_of(const Caller& caller, const SandboxInfo& info) {
  Workspace workspace = info.spec.workspace;
  workspace.caller = caller.connection;
  change::BaseHead head;
  OperationTask task{.kind = "record_workspace", .target = workspace.path, .project = info.project};
  task.work = [&]() -> Result<std::string> {
    head = COVE_TRY(record_base(*runtime_, workspace, base_path(info.spec.id), {.peer = caller.peer}));
    return Json({{"sandbox_id", info.spec.id}, {"entries", head.entries}, {"uncovered", head.uncovered}}).dump();
  };
  COVE_TRY(operations_.run(std::move(task)));
  if (head.uncovered == 0) return std::vector<std::string>();
  return std::vector<std::string>{
      concat("paths of the workspace that are not, or not wholly, on record: ", head.uncovered)};
}

Result<void> LiveEngine::pin(const Caller& caller, Workspace& workspace) {
  // One that is noted already is looked at by whoever opens it.
  if (workspace.access == Access::None || workspace.inode != 0) return {};
  if (workspace.path.size() >= PATH_MAX)
    return fail(Code::Invalid, concat("the path of the workspace has ", workspace.path.size(), " bytes: more than the ",
                                      PATH_MAX - 1, " that the kernel takes"));
  Workspace asked = workspace;
  asked.caller = caller.connection;
  COVE_TRY(runtime_->pin_workspace(asked));
  workspace.device = asked.device;
  workspace.inode = asked.inode;
  return {};
}

// Builds it, then records it: what is not on record when the server dies was never acknowledged, and is swept away.
Result<LiveEngine::Shared> LiveEngine::raise(const Caller& caller, SandboxInfo info, const CreateOrder& order,
                                             std::optional<Blank> blank) {
  std::unique_ptr<Sandbox> handle;
  std::vector<std::string> gaps;
  COVE_TRY(pin(caller, info.spec.workspace));
  if (info.spec.workspace.access == Access::Review) gaps = COVE_TRY(record_base_of(caller, info));
  if (order.start) {
    handle = blank ? std::move(blank->handle) : COVE_TRY(runtime_->create(runtime_spec(info, caller)));
    Result<void> ready = handle->ready();
    if (ready && !blank) ready = make_working_folder(*handle, info.spec);
    if (ready) ready = write_git_author(*handle, info.spec);
    if (ready) ready = secrets_->install(*handle, info);
    if (ready) ready = begin_network(info, *handle);
    if (!ready) {
      drop_network(info.spec.id);
      static_cast<void>(handle->destroy(Files::Remove));
      return std::unexpected(ready.error());
    }
    crash_point("engine.create.built");
    info.enforced = handle->enforced();
    info.warnings = handle->warnings();
    info.warnings.insert(info.warnings.end(), gaps.begin(), gaps.end());
    info.state = State::Running;
    info.started_ms = clock_->now_ms();
  } else {
    info.state = State::Stopped;
    info.reason = "it was not started yet";
  }
  count_expiry(info, info.created_ms);
  std::optional<Idempotency> idempotency;
  if (!order.idempotency_key.empty())
    idempotency = Idempotency{info.project, order.idempotency_key, order.request_hash, info.spec.id, info.created_ms};
  EventDraft event = event_of(caller, info, "sandbox.created",
                              Json({{"image", info.spec.image}, {"state", state_name(info.state)}}).dump());
  Result<uint64_t> recorded = store_->insert_sandbox(record_of(info), idempotency, {&event, 1});
  crash_point("engine.create.recorded");
  if (!recorded) {
    drop_network(info.spec.id);
    if (handle) static_cast<void>(handle->destroy(Files::Remove));
    return std::unexpected(recorded.error());
  }
  if (!order.start) admission_.give_memory(info.project, info.spec.limits.memory.value);
  Shared sandbox = make_live(std::move(info));
  if (handle) COVE_TRY(sandbox->take_handle(std::move(handle)));
  if (blank && !blank->exec_id.empty())
    sandbox->keep_waiting({blank->language, blank->exec_id, std::move(blank->streams), std::move(blank->script)});
  add(sandbox);
  return sandbox;
}

}  // namespace cove::engine
