#include "engine/network/live_networks.h"

#include <algorithm>

#include "base/id.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "engine/record_codec.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

constexpr size_t kMostLearned = 1024;

net::NetworkCounters minus(const net::NetworkCounters& now, const net::NetworkCounters& before) {
  auto difference = [](uint64_t a, uint64_t b) { return a > b ? a - b : 0; };
  return {difference(now.in_bytes, before.in_bytes), difference(now.out_bytes, before.out_bytes),
          difference(now.connections, before.connections)};
}

}  // namespace

class LiveNetworks::Listener : public net::Gateway::Listener {
 public:
  explicit Listener(LiveNetworks& networks) : networks_(networks) {}
  void entry(net::NetworkEntry entry) override { networks_.take(std::move(entry)); }
  void access_requested(const std::string& sandbox, const std::string& host, uint16_t port,
                        const std::string& reason) override {
    networks_.take_access_request(sandbox, host, port, reason);
  }

 private:
  LiveNetworks& networks_;  // which ends the gateway before itself
};

LiveNetworks::LiveNetworks(Parts parts) : parts_(std::move(parts)), server_(server_policy(parts_.config)) {}

LiveNetworks::~LiveNetworks() {
  stop();
  gateway_.reset();
}

Result<void> LiveNetworks::start() {
  COVE_TRY_NOTE("the server's settings", net::check_policy(server_));
  COVE_TRY(record_server_policy());
  gateway_ = COVE_TRY(parts_.make_gateway(std::make_shared<Listener>(*this)));
  return {};
}

void LiveNetworks::stop() {
  jobs_.stop();
  counts_.stop();
}

// --- the life of a sandbox's network ---------------------------------------------------------------------------------

LiveNetworks::Shared LiveNetworks::find(const std::string& sandbox_id) const {
  std::lock_guard lock(mutex_);
  auto found = boxes_.find(sandbox_id);
  return found == boxes_.end() ? nullptr : found->second;
}

LiveNetworks::Shared LiveNetworks::box_of(const std::string& sandbox_id) {
  std::lock_guard lock(mutex_);
  Shared& box = boxes_[sandbox_id];
  // Numbers rise over a restart of the server, too.
  if (!box) box = std::make_shared<Box>(static_cast<uint64_t>(parts_.clock.now_us()));
  return box;
}

Result<void> LiveNetworks::attach(Box& box, const std::string& sandbox_id, const Open& open) {
  if (box.attached) return {};
  COVE_TRY(gateway_->attach(sandbox_id, COVE_TRY(open())));
  box.attached = true;
  return {};
}

void LiveNetworks::close(Box& box, const std::string& sandbox_id) {
  if (gateway_) gateway_->detach(sandbox_id);
  box.attached = false;
  box.begun = false;
}

Result<void> LiveNetworks::prepare(const std::string& sandbox_id, const Open& open) {
  Shared box = box_of(sandbox_id);
  std::lock_guard lock(box->acting);
  Result<void> attached = attach(*box, sandbox_id, open);
  if (attached) return {};
  forget(sandbox_id);
  return fail(std::move(attached).error().note(concat("prepare the network of sandbox ", sandbox_id)));
}

Result<void> LiveNetworks::begin(const SandboxInfo& sandbox, const Open& open) {
  const std::string& id = sandbox.spec.id;
  auto try_begin = [&](Box& box) -> Result<void> {
    net::EffectivePolicy policy = COVE_TRY(effective(sandbox));
    COVE_TRY(attach(box, id, open));
    return gateway_->set_policy(id, policy);
  };
  Shared box = box_of(id);
  std::lock_guard lock(box->acting);
  Result<void> begun = try_begin(*box);
  if (!begun) {
    close(*box, id);
    return fail(std::move(begun).error().note(concat("set up the network of sandbox ", id)));
  }
  box->sandbox = sandbox;
  if (!box->begun) {
    std::lock_guard values(box->mutex);
    box->counters = NetworkCounters();
    box->open = 0;
    box->project = sandbox.project;
    box->session = parts_.host.owner_of(sandbox).session;
  }
  box->begun = true;
  return {};
}

void LiveNetworks::end(const std::string& sandbox_id) {
  Shared box = find(sandbox_id);
  if (!box) return;
  std::lock_guard lock(box->acting);
  if (box->attached) close(*box, sandbox_id);
  std::lock_guard values(box->mutex);
  box->once.clear();
}

void LiveNetworks::forget(const std::string& sandbox_id) {
  Shared box;
  {
    std::lock_guard lock(mutex_);
    auto found = boxes_.find(sandbox_id);
    if (found == boxes_.end()) return;
    box = std::move(found->second);
    boxes_.erase(found);
  }
  box->log.end();
}

// Where the gateway cannot be told, what it does is not what the policy says: then it does nothing for this sandbox.
Result<void> LiveNetworks::renew(Box& box) {
  const std::string& id = box.sandbox.spec.id;
  Result<net::EffectivePolicy> policy = effective(box.sandbox);
  Result<void> set = policy ? gateway_->set_policy(id, *policy) : std::unexpected(policy.error());
  if (set) return {};
  close(box, id);
  return fail(std::move(set)
                  .error()
                  .note(concat("change the network of sandbox ", id))
                  .hint("the sandbox has no network now: stop and start it"));
}

Result<void> LiveNetworks::refresh(const SandboxInfo& sandbox) {
  Shared box = find(sandbox.spec.id);
  if (!box) return {};
  std::lock_guard lock(box->acting);
  box->sandbox = sandbox;
  return box->begun ? renew(*box) : Result<void>();
}

std::vector<LiveNetworks::Shared> LiveNetworks::all() const {
  std::lock_guard lock(mutex_);
  std::vector<Shared> boxes;
  for (const auto& [id, box] : boxes_) boxes.push_back(box);
  return boxes;
}

// What was changed is on record by now: a network that is begun from now on has it. Each of them, also where one fails.
Result<void> LiveNetworks::refresh_all(const std::string& project) {
  Result<void> each;
  for (const Shared& box : all()) {
    std::lock_guard lock(box->acting);
    if (!box->begun || box->sandbox.project != project) continue;
    if (Result<void> one = renew(*box); !one) each = one;
  }
  return each;
}

Result<PolicySources> LiveNetworks::sources_of(const SandboxInfo& sandbox, uint64_t& version) {
  const NetworkHost::Owner owner = parts_.host.owner_of(sandbox);
  PolicySources sources;
  NetworkBound project = COVE_TRY(find_bound(sandbox.project, ""));
  NetworkBound agent{.policy = no_bound()};
  if (!owner.agent.empty()) agent = COVE_TRY(find_bound(sandbox.project, owner.agent));
  sources.server = server_;
  sources.project = project.policy;
  sources.agent = agent.policy;
  sources.own = sandbox.spec.network;
  if (!owner.session.empty()) sources.own_name = "session";
  for (const NetworkRuleRecord& rule : COVE_TRY(parts_.store.list_network_rules(sandbox.project, subject_of(sandbox))))
    sources.approved.push_back(rule.rule);
  if (Shared box = find(sandbox.spec.id)) {
    std::lock_guard lock(box->mutex);
    for (const Once& once : box->once) sources.approved.push_back(once.rule);
  }
  version = server_version_ + project.version + agent.version + sandbox.network_version;
  return sources;
}

Result<net::EffectivePolicy> LiveNetworks::effective(const SandboxInfo& sandbox) {
  net::EffectivePolicy policy;
  policy.layers = layers_of(COVE_TRY(sources_of(sandbox, policy.version)));
  policy.learn = sandbox.spec.network.learn;
  COVE_TRY(resolve_image_groups(policy.layers, [&](const std::string& group) -> Result<std::vector<std::string>> {
    const std::pair key(sandbox.spec.image, group);
    {
      std::lock_guard lock(mutex_);
      if (auto known = image_hosts_.find(key); known != image_hosts_.end()) return known->second;
    }
    std::vector<std::string> hosts = COVE_TRY(parts_.image_hosts(sandbox.spec, group));
    std::lock_guard lock(mutex_);
    return image_hosts_[key] = std::move(hosts);
  }));
  COVE_TRY(net::CompiledPolicy::compile(policy.layers));
  std::shared_ptr<NetworkSecrets> secrets;
  {
    std::lock_guard lock(mutex_);
    secrets = secrets_;
  }
  if (secrets) COVE_TRY(secrets->fill(sandbox, policy));
  return policy;
}

void LiveNetworks::set_secrets(std::shared_ptr<NetworkSecrets> secrets) {
  std::lock_guard lock(mutex_);
  secrets_ = std::move(secrets);
}

// --- for an exec -----------------------------------------------------------------------------------------------------

std::optional<Networks::Mark> LiveNetworks::mark(const std::string& sandbox_id) {
  Shared box = find(sandbox_id);
  if (!box || !box->begun) return std::nullopt;
  Mark mark{.counters = {}, .entry = box->log.last()};
  {
    std::lock_guard lock(box->mutex);
    if (box->counters) return mark.counters = *box->counters, mark;
  }
  if (Result<NetworkCounters> counters = gateway_->sync(sandbox_id)) mark.counters = *counters;
  mark.entry = box->log.last();
  return mark;
}

Networks::Since LiveNetworks::since(const std::string& sandbox_id, const Mark& mark) {
  Shared box = find(sandbox_id);
  if (!box || !box->begun) return {};
  const uint64_t before = box->log.last();
  Result<NetworkCounters> counters = gateway_->sync(sandbox_id);
  Since since;
  if (counters) since.counters = minus(*counters, mark.counters);
  since.denials = denials_of(box->log.after(mark.entry, kKeptEntries), sandbox_id, kMostDenials);
  // The next exec need not ask, as long as nothing happens.
  std::lock_guard lock(box->mutex);
  if (counters && box->open == 0 && box->log.last() == before) box->counters = *counters;
  return since;
}

void LiveNetworks::since_later(const std::string& sandbox_id, const Mark& mark, std::function<void(Since)> done) {
  counts_.add([this, sandbox_id, mark, done = std::move(done)] { done(since(sandbox_id, mark)); });
}

// --- what the gateway tells ------------------------------------------------------------------------------------------

void LiveNetworks::take(net::NetworkEntry entry) {
  Shared box = find(entry.sandbox);
  if (!box) return;
  const std::string id = entry.sandbox;
  NetworkRequest request;
  if (is_denial(entry)) {
    request.rule = rule_for(entry);
    request.host = entry.host;
    request.port = denial_of(entry, id).port;
    request.layer = entry.layer;
    request.reason = entry.why;
  }
  {
    std::lock_guard lock(box->mutex);
    count_open(*box, entry);
    follow_approvals(*box, entry);
    learn(*box, entry);
  }
  box->log.add(std::move(entry));
  if (!request.rule.empty()) note_request(box, id, std::move(request));
}

void LiveNetworks::take_access_request(const std::string& sandbox, const std::string& host, uint16_t port,
                                       const std::string& reason) {
  Shared box = find(sandbox);
  if (!box) return;
  net::NetworkEntry wanted{.host = host, .port = port, .code = "not_allowed"};
  NetworkRequest request;
  request.host = host;
  request.port = port;
  request.rule = rule_for(wanted);
  request.reason = reason.substr(0, 500);
  if (!request.rule.empty()) note_request(box, sandbox, std::move(request));
}

void LiveNetworks::note_request(const Shared& box, const std::string& sandbox_id, NetworkRequest request) {
  request.id = make_id();
  request.sandbox_id = sandbox_id;
  request.created_ms = parts_.clock.now_ms();
  RequestBook::Noted noted;
  NetworkRequest recorded;
  {
    std::lock_guard lock(box->mutex);
    if (!know_requests(*box, sandbox_id)) return;
    request.project = box->project;
    request.session = box->session;
    noted = box->requests.note(std::move(request));
    if (noted.request) recorded = *noted.request;
  }
  if (noted.is_new)
    jobs_.add([this, recorded = std::move(recorded), gone = noted.gone] { record_request(recorded, gone); });
}

void LiveNetworks::count_open(Box& box, const net::NetworkEntry& entry) {
  using Stage = net::NetworkEntry::Stage;
  box.counters.reset();
  if (entry.stage == Stage::Opened && entry.allowed) ++box.open;
  if (entry.stage == Stage::Closed && box.open > 0) --box.open;
}

// An approval for one connection is over when the first that it has allowed is.
void LiveNetworks::follow_approvals(Box& box, const net::NetworkEntry& entry) {
  using Stage = net::NetworkEntry::Stage;
  for (Once& once : box.once) {
    if (entry.stage == Stage::Opened && once.connection == 0 && entry.allowed && entry.rule == once.rule)
      once.connection = entry.connection;
    else if (entry.stage == Stage::Closed && once.connection != 0 && once.connection == entry.connection)
      jobs_.add([this, id = entry.sandbox, rule = once.rule] { end_approval(id, rule); });
  }
}

void LiveNetworks::learn(Box& box, const net::NetworkEntry& entry) {
  if (!entry.allowed || !entry.rule.empty() || entry.stage != net::NetworkEntry::Stage::Opened) return;
  if (box.learned.size() < kMostLearned) box.learned.emplace(entry.host, entry.port);
}

}  // namespace cove::engine
