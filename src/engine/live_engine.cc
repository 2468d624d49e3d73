#include "engine/live_engine.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "engine/record_codec.h"
#include "run/asked_inside.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr const char* kStateNames[] = {"creating", "running", "paused", "stopped", "deleting"};

std::unexpected<Error> no_sandbox(const std::string& sandbox) {
  return fail(Code::NotFound, concat("there is no sandbox '", sandbox, "'"));
}

constexpr std::chrono::milliseconds kVersionPatience(20'000);

std::optional<std::string> stored_image(const Images& images, const std::string& image) {
  Result<std::string> reference = images.find_reference(image);
  return reference ? std::optional(std::move(*reference)) : std::nullopt;
}

// In a sandbox that is on no record: what a killed server leaves of it, the next one sweeps away.
Result<std::string> ask_host_image(Runtime& runtime, const Limits& limits, const std::string& script) {
  SandboxSpec spec;
  spec.limits = limits;
  if (spec.limits.disk.value == 0) spec.limits.disk.value = kDefaultDisk;
  spec.lifetime = Lifetime::Long;
  return asked_inside(runtime, spec, {"sh", "-c", script}, kVersionPatience);
}

bool has_labels(const SandboxInfo& info, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    auto found = info.spec.labels.find(label.first);
    return found != info.spec.labels.end() && (label.second.empty() || found->second == label.second);
  });
}

bool matches(const SandboxInfo& info, const SandboxFilter& filter) {
  if (filter.state && info.state != *filter.state) return false;
  if (!filter.name.empty() && info.spec.name != filter.name) return false;
  return has_labels(info, filter.labels);
}

}  // namespace

const char* state_name(State state) { return kStateNames[static_cast<size_t>(state)]; }

std::optional<State> parse_state(const std::string& name) {
  for (size_t i = 0; i < std::size(kStateNames); ++i)
    if (name == kStateNames[i]) return static_cast<State>(i);
  return std::nullopt;
}

Result<std::unique_ptr<Engine>> Engine::open(const Config& config, std::unique_ptr<Store> store,
                                             std::unique_ptr<Runtime> runtime, std::unique_ptr<Images> images,
                                             EngineOptions options) {
  auto pump = COVE_TRY(Pump::create(*options.clock));
  KeyPlaces keys = options.secret_keys;
  keys.folder = config.server_folder;
  auto secrets = COVE_TRY(SandboxSecrets::open(*store, std::move(keys)));
  auto engine = std::make_unique<LiveEngine>(config, std::move(store), std::move(runtime), std::move(images),
                                             std::move(pump), std::move(secrets), std::move(options));
  COVE_TRY(engine->start_networks());
  COVE_TRY_NOTE("take over from an earlier server", engine->recover());
  engine->start_housekeeping();
  return engine;
}

LiveEngine::LiveEngine(const Config& config, std::unique_ptr<Store> store, std::unique_ptr<Runtime> runtime,
                       std::unique_ptr<Images> images, std::unique_ptr<Pump> pump,
                       std::shared_ptr<SandboxSecrets> secrets, EngineOptions options)
    : config_(config),
      clock_(std::move(options.clock)),
      store_(std::move(store)),
      secrets_(std::move(secrets)),
      operations_(*store_),
      runtime_(std::move(runtime)),
      images_(std::move(images)),
      pump_(std::move(pump)),
      room_(config_.server_folder, *clock_, std::move(options.measure_room)),
      languages_(
          config_.languages, [this](const std::string& image) { return stored_image(*images_, image); },
          [this](const std::string& script) { return ask_host_image(*runtime_, config_.limits, script); }, ""),
      networks_(network_parts(options)),
      pool_(config_, *runtime_, room_, languages_, *clock_, &networks_),
      admission_(config_),
      kept_execs_(
          config_.exec_logs, [this](const std::string& project) { return admission_.logs_of(project); },
          [this](const std::string& sandbox) { drop_kept_execs(sandbox); }),
      tools_{*store_, *pump_, jobs_, *clock_, [this](const ExecInfo&, double seconds) { exec_seconds_.add(seconds); }} {
  images_->on_remove([this](const std::string& digest) { pool_.forget_image(digest); });
  store_->on_events([this] {
    std::lock_guard lock(events_mutex_);
    std::erase_if(event_followers_, [](const std::weak_ptr<Subscription>& follower) {
      std::shared_ptr<Subscription> there = follower.lock();
      if (there) ::eventfd_write(there->fd.get(), 1);
      return !there;
    });
  });
}

LiveEngine::~LiveEngine() { stop_serving(); }

void LiveEngine::stop_serving() {
  {
    std::lock_guard lock(house_mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  house_wake_.notify_all();
  operations_.stop();
  pool_.stop();
  if (house_.joinable()) house_.join();
  persist_touches();
  EventDraft event;
  event.kind = "server.stopped";
  event.actor = "server";
  static_cast<void>(store_->append_events({&event, 1}));
  jobs_.stop();
  networks_.stop();
  // Sandboxes, which go later, still talk to it.
  pump_->stop();
  static_cast<void>(store_->checkpoint());
}

LiveEngine::Shared LiveEngine::make_live(SandboxInfo info) {
  std::shared_ptr<void> image = images_->hold(info.spec.image);
  auto drop = [this](const std::string& log) {
    jobs_.add([this, log] {
      static_cast<void>(store_->remove_exec(log.substr(log.rfind('/') + 1)));
      ::unlink(log.c_str());
    });
  };
  auto logs = std::make_shared<LogBudget>(config_.exec_logs, admission_.logs_of(info.project), drop);
  auto sandbox =
      std::make_shared<LiveSandbox>(tools_, std::move(info), std::move(logs),
                                    [this](const Shared& gone, const SandboxEnded& end) { on_gone(gone, end); });
  sandbox->image = std::move(image);
  return sandbox;
}

void LiveEngine::add(const Shared& sandbox) {
  SandboxInfo info = sandbox->info();
  std::unique_lock lock(mutex_);
  by_id_[info.spec.id] = sandbox;
  in_order_[{info.created_ms, info.spec.id}] = sandbox;
  if (!info.spec.name.empty()) by_name_[{info.project, info.spec.name}] = info.spec.id;
}

void LiveEngine::drop(const Shared& sandbox) {
  SandboxInfo info = sandbox->info();
  std::unique_lock lock(mutex_);
  by_id_.erase(info.spec.id);
  in_order_.erase({info.created_ms, info.spec.id});
  auto named = by_name_.find({info.project, info.spec.name});
  if (named != by_name_.end() && named->second == info.spec.id) by_name_.erase(named);
}

std::vector<LiveEngine::Shared> LiveEngine::all() const {
  std::shared_lock lock(mutex_);
  std::vector<Shared> sandboxes;
  for (const auto& [key, sandbox] : in_order_) sandboxes.push_back(sandbox);
  return sandboxes;
}

Result<LiveEngine::Shared> LiveEngine::look_up(const Caller& caller, const std::string& sandbox, Scope scope) const {
  Shared found;
  {
    std::shared_lock lock(mutex_);
    auto by_id = by_id_.find(sandbox);
    if (by_id == by_id_.end()) {
      auto named = by_name_.find({caller.project, sandbox});
      if (named != by_name_.end()) by_id = by_id_.find(named->second);
    }
    if (by_id != by_id_.end()) found = by_id->second;
  }
  if (!found || found->project() != caller.project) return no_sandbox(sandbox);
  if (!caller.only_sandbox.empty() && caller.only_sandbox != found->id()) return no_sandbox(sandbox);
  if (!caller.scopes.allow(scope))
    return fail(Code::Denied,
                concat("this needs the scope '", scope_name(scope), "', which ", caller.actor, " does not have"));
  return found;
}

Result<SandboxInfo> LiveEngine::find(const Caller& caller, const std::string& sandbox) {
  return COVE_TRY(look_up(caller, sandbox, Scope::Read))->info();
}

Result<Page<SandboxInfo>> LiveEngine::list(const Caller& caller, const SandboxFilter& filter, const std::string& after,
                                           size_t limit) {
  if (!caller.scopes.allow(Scope::Read)) return fail(Code::Denied, "this needs the scope 'read'");
  Key from = {INT64_MIN, ""};
  if (!after.empty()) {
    std::vector<std::string> words = split(after, '-');
    Result<int64_t> time = words.size() == 2 ? parse_integer(words[0], 0, INT64_MAX) : fail(Code::Invalid, "");
    if (!time) return fail(Code::Invalid, concat("'", after, "' is not what an earlier page gave as `next`"));
    from = {*time, words[1]};
  }
  Page<SandboxInfo> page;
  std::shared_lock lock(mutex_);
  for (auto at = in_order_.upper_bound(from); at != in_order_.end(); ++at) {
    if (at->second->project() != caller.project) continue;
    if (!caller.only_sandbox.empty() && caller.only_sandbox != at->second->id()) continue;
    SandboxInfo info = at->second->info();
    if (!matches(info, filter)) continue;
    if (page.items.size() == limit) {
      const SandboxInfo& last = page.items.back();
      page.next = concat(last.created_ms, "-", last.spec.id);
      break;
    }
    page.items.push_back(std::move(info));
  }
  return page;
}

Result<Stats> LiveEngine::stats(const Caller& caller, const std::string& sandbox) {
  return COVE_TRY(look_up(caller, sandbox, Scope::Read))->stats();
}

void LiveEngine::note(const Caller& caller, const std::string& kind, const std::string& sandbox_id,
                      const std::string& exec_id, const std::string& data_json) {
  EventDraft event{kind, caller.project, sandbox_id, exec_id, caller.actor, data_json, 0};
  static_cast<void>(store_->append_events({&event, 1}));
}

Result<std::vector<EventRecord>> LiveEngine::events(const Caller& caller, EventFilter filter, uint64_t after,
                                                    size_t limit) {
  if (!caller.scopes.allow(Scope::Read)) return fail(Code::Denied, "this needs the scope 'read'");
  filter.project = caller.project;
  std::vector<EventRecord> events = COVE_TRY(store_->events_after(after, filter, limit));
  if (!caller.only_sandbox.empty())
    std::erase_if(events, [&](const EventRecord& event) { return event.sandbox_id != caller.only_sandbox; });
  return events;
}

Result<std::shared_ptr<Engine::Subscription>> LiveEngine::subscribe_events() {
  auto follower = std::make_shared<Subscription>(UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!follower->fd) return fail_errno("eventfd");
  std::lock_guard lock(events_mutex_);
  event_followers_.push_back(follower);
  return follower;
}

Engine::Counts LiveEngine::counts() {
  Counts counts;
  for (const char* name : kStateNames) counts.sandboxes[name] = 0;
  for (const Shared& sandbox : all()) {
    ++counts.sandboxes[state_name(sandbox->state())];
    counts.execs_running += sandbox->running_execs();
  }
  counts.refusals = admission_.refusals();
  counts.pool = pool_.numbers();
  counts.create_seconds = create_seconds_.read();
  counts.exec_seconds = exec_seconds_.read();
  counts.exec_start_seconds = exec_start_seconds_.read();
  return counts;
}

bool LiveEngine::idle() const {
  return std::ranges::none_of(all(), [](const Shared& sandbox) {
    State state = sandbox->state();
    return state != State::Stopped;
  });
}

}  // namespace cove::engine
