// The networks of sandboxes: what they need of the engine, and their changes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/live_engine.h"
#include "engine/network/policy_layers.h"
#include "engine/network/webhook.h"
#include "engine/record_codec.h"
#include "net/groups.h"
#include "sys/file.h"

namespace cove::engine {
namespace {

constexpr std::string_view kSessionBinding = "session:";
constexpr std::string_view kAgentBinding = "agent:";
constexpr size_t kLongestConfiguration = 1 << 20;
constexpr size_t kLongestAuthorities = 256 << 10;

// What an image has there, which nothing has run in.
Result<std::string> read_file(View& view, const std::string& path) {
  UniqueFd file = COVE_TRY(view.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (::fstat(file.get(), &status) < 0 || !S_ISREG(status.st_mode))
    return fail(Code::Invalid, concat(path, " is no file"));
  std::string text;
  char buffer[16384];
  ssize_t count;
  while ((count = ::read(file.get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kLongestConfiguration) return fail(Code::Invalid, concat(path, " is too long"));
  }
  return text;
}

std::vector<std::string> names_in(View& view, const std::string& folder) {
  std::vector<std::string> names;
  Result<std::vector<FileEntry>> entries = view.list(folder);
  if (entries)
    for (const FileEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

Result<net::GatewaySettings> gateway_settings(const Config& config) {
  net::GatewaySettings settings;
  settings.resolvers = config.network.resolvers;
  if (config.network.upstream_ca.empty()) return settings;
  settings.upstream_ca = COVE_TRY_NOTE("network.upstream_ca", sys::read_file(config.network.upstream_ca));
  if (settings.upstream_ca.size() <= kLongestAuthorities) return settings;
  return fail(Code::Invalid, concat("network.upstream_ca: ", config.network.upstream_ca, " is longer than ",
                                    format_bytes(kLongestAuthorities)));
}

Json as_json(const NetworkPolicy& policy) { return Json::parse(record_text(policy)).value_or(Json()); }

}  // namespace

LiveNetworks::Parts LiveEngine::network_parts(EngineOptions& options) {
  MakeGateway make_gateway = std::move(options.make_gateway);
  if (!make_gateway)
    make_gateway = [this](auto listener) -> Result<std::unique_ptr<net::Gateway>> {
      return net::make_gateway_client([this] { return runtime_->start_gateway(); }, COVE_TRY(gateway_settings(config_)),
                                      std::move(listener));
    };
  return {.store = *store_,
          .config = config_,
          .clock = *clock_,
          .host = *this,
          .make_gateway = std::move(make_gateway),
          .image_hosts = [this](const SandboxSpec& spec, const std::string& group) { return image_hosts(spec, group); },
          .tell_webhook = make_webhook(config_)};
}

Result<void> LiveEngine::start_networks() {
  networks_.set_secrets(secrets_);
  secrets_->on_change([this](const std::string& project, const std::string& name) { refresh_secret(project, name); });
  return networks_.start();
}

void LiveEngine::refresh_secret(const std::string& project, const std::string& name) {
  for (const Shared& sandbox : all()) {
    std::lock_guard lock(sandbox->changing);  // so that no change of its policy comes in between
    const SandboxInfo info = sandbox->info();
    if (info.project != project || std::ranges::find(info.spec.secrets, name) == info.spec.secrets.end()) continue;
    if (Result<void> done = networks_.refresh(info); !done)
      log::warning("the policy of a sandbox could not be changed",
                   {{"sandbox", info.spec.id}, {"why", done.error().message()}});
  }
}

// From a sandbox that is on no record, as nothing else shows an image's files.
Result<std::vector<std::string>> LiveEngine::image_hosts(const SandboxSpec& sandbox, const std::string& group) {
  SandboxSpec spec;
  spec.id = make_id();
  spec.image = sandbox.image;
  spec.runtime = sandbox.runtime;
  spec.limits = config_.limits;
  if (spec.limits.disk.value == 0) spec.limits.disk.value = kDefaultDisk;
  spec.lifetime = Lifetime::Long;
  std::unique_ptr<Sandbox> handle = COVE_TRY(runtime_->create(spec));
  Result<std::unique_ptr<View>> view = handle->open_view("root");
  Result<std::vector<std::string>> hosts = std::vector<std::string>();
  if (view)
    hosts = net::image_hosts(*net::find_group(group),
                             {[&](const std::string& path) { return read_file(**view, path); },
                              [&](const std::string& folder) { return names_in(**view, folder); }});
  else
    hosts = std::unexpected(view.error());
  static_cast<void>(handle->destroy(Files::Remove));
  if (hosts) return hosts;
  return fail(std::move(hosts).error().note(concat("find the hosts of @", group, " in the image ", spec.image)));
}

Result<SandboxInfo> LiveEngine::sandbox_for(const Caller& caller, const std::string& sandbox, Scope scope) {
  return COVE_TRY(look_up(caller, sandbox, scope))->info();
}

NetworkHost::Owner LiveEngine::owner_of(const SandboxInfo& sandbox) {
  if (sandbox.binding.starts_with(kAgentBinding)) return {.agent = sandbox.binding.substr(kAgentBinding.size())};
  if (!sandbox.binding.starts_with(kSessionBinding)) return {};
  Owner owner{.session = sandbox.binding.substr(kSessionBinding.size())};
  if (Result<SessionRecord> session = store_->find_session(sandbox.project, owner.session))
    owner.agent = session->agent;
  return owner;
}

// Nothing gets out before its policy is in force.
Result<void> LiveEngine::begin_network(const SandboxInfo& info, Sandbox& handle) {
  if (!has_network(info.spec.network)) return {};
  return networks_.begin(info, [&] { return handle.open_network(); });
}

void LiveEngine::drop_network(const std::string& sandbox) {
  networks_.end(sandbox);
  networks_.forget(sandbox);
}

AskNetworkUse LiveEngine::ask_network(const SandboxInfo& sandbox, const ExecOrder& order) {
  if (order.spec.no_network || !has_network(sandbox.spec.network)) return {};
  std::optional<Networks::Mark> mark = networks_.mark(sandbox.spec.id);
  if (!mark) return {};
  return [this, id = sandbox.spec.id, mark = *mark](auto done) {
    networks_.since_later(id, mark, [done = std::move(done)](Networks::Since since) {
      done({since.counters.in_bytes, since.counters.out_bytes, std::move(since.denials)});
    });
  };
}

Result<void> LiveEngine::check_network_change(const Caller& caller, const SandboxInfo& info,
                                              const NetworkPolicy& wanted) const {
  if (wanted == info.spec.network) return {};
  COVE_TRY(net::check_policy(wanted));
  COVE_TRY(check_changed(caller, info.spec.network, wanted, config_));
  return has_network(wanted) ? check_can_have_network(capabilities(info.spec.runtime)) : Result<void>();
}

Result<void> LiveEngine::change_policy(const Caller& caller, const std::string& sandbox_id, const Edit& edit) {
  Shared sandbox = COVE_TRY(look_up(server_in(caller.project), sandbox_id, Scope::Read));
  std::lock_guard lock(sandbox->changing);
  if (sandbox->state() == State::Deleting)
    return fail(Code::NotFound, concat("there is no sandbox '", sandbox_id, "'"));
  NetworkPolicy policy = sandbox->info().spec.network;
  edit(policy);
  COVE_TRY(net::check_policy(policy));
  return change_network(caller, *sandbox, policy);
}

// On record first: what a server that is killed in between has not done, the next one does.
Result<void> LiveEngine::change_network(const Caller& caller, LiveSandbox& sandbox, const NetworkPolicy& wanted) {
  SandboxInfo info = sandbox.info();
  const NetworkPolicy before = std::exchange(info.spec.network, wanted);
  const Owner owner = owner_of(info);
  const bool shared = owner.session.empty() && !info.binding.empty();
  if (shared && !info.network_asked) info.network_asked = before;
  ++info.network_version;
  Json data = json_object({{"version", info.network_version}, {"old", as_json(before)}, {"new", as_json(wanted)}});
  if (!owner.session.empty()) data["session"] = owner.session;
  COVE_TRY(record(caller, sandbox, info, "network.changed", data.dump()));
  COVE_TRY(tell_session(info));
  if (!sandbox.has_handle()) return {};
  if (!has_network(wanted)) return networks_.refresh(info);
  return networks_.begin(info, [&] { return sandbox.open_network(); });
}

// The next sandbox of the session is to have the same.
Result<void> LiveEngine::tell_session(const SandboxInfo& info) {
  const Owner owner = owner_of(info);
  if (owner.session.empty()) return {};
  SessionInfo session = COVE_TRY(info_of(COVE_TRY(store_->find_session(info.project, owner.session))));
  if (session.state == SessionState::Ended) return {};
  session.order.sandbox.network = info.spec.network;
  COVE_TRY(store_->update_session(session.id, record_of(session).spec, {}));
  return {};
}

}  // namespace cove::engine
