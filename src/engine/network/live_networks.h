#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/config.h"
#include "engine/background_jobs.h"
#include "engine/network/network_log.h"
#include "engine/network/networks.h"
#include "engine/network/policy_layers.h"
#include "engine/network/request_book.h"
#include "store/store.h"

namespace cove::engine {

// What networks need of the engine around them.
struct NetworkHost {
  virtual ~NetworkHost() = default;
  // As Engine::find, for those who have the scope.
  virtual Result<SandboxInfo> sandbox_for(const Caller& caller, const std::string& sandbox, Scope scope) = 0;
  // Changes the sandbox's own policy, or only its version, on record; in force when it returns.
  using Edit = std::function<void(NetworkPolicy&)>;
  virtual Result<void> change_policy(const Caller& caller, const std::string& sandbox_id, const Edit& edit) = 0;
  // Whose sandbox it is: the agent, or empty; and the session that it was made for, or empty.
  struct Owner {
    std::string agent;
    std::string session;
  };
  virtual Owner owner_of(const SandboxInfo& sandbox) = 0;
};

using FindImageHosts =
    std::function<Result<std::vector<std::string>>(const SandboxSpec& sandbox, const std::string& group)>;
// Sends a request to the webhook; called by a thread that may wait.
using TellWebhook = std::function<void(const NetworkRequest& request)>;

// The one Networks there is. live_networks.cc is the life of a sandbox's network and what is reported of it,
// deciding.cc what people decide, bounds.cc the policies of projects and agents.
class LiveNetworks : public Networks {
 public:
  struct Parts {
    Store& store;
    const Config& config;
    Clock& clock;
    NetworkHost& host;
    MakeGateway make_gateway;
    FindImageHosts image_hosts;
    TellWebhook tell_webhook;  // may be empty
  };
  explicit LiveNetworks(Parts parts);
  ~LiveNetworks() override;
  // Once, before anything else. Invalid where a setting is wrong.
  Result<void> start();
  // Ends its threads; the gateway goes on.
  void stop();

  Result<void> prepare(const std::string& sandbox_id, const Open& open) override;
  Result<void> begin(const SandboxInfo& sandbox, const Open& open) override;
  void end(const std::string& sandbox_id) override;
  void forget(const std::string& sandbox_id) override;
  Result<void> refresh(const SandboxInfo& sandbox) override;
  Result<void> refresh_all(const std::string& project) override;
  Result<net::EffectivePolicy> effective(const SandboxInfo& sandbox) override;
  void set_secrets(std::shared_ptr<NetworkSecrets> secrets) override;

  std::optional<Mark> mark(const std::string& sandbox_id) override;
  Since since(const std::string& sandbox_id, const Mark& mark) override;
  void since_later(const std::string& sandbox_id, const Mark& mark, std::function<void(Since)> done) override;

  Result<std::vector<LogEntry>> log(const Caller& caller, const std::string& sandbox, uint64_t after,
                                    size_t limit) override;
  Result<std::shared_ptr<LogFollower>> follow_log(const Caller& caller, const std::string& sandbox) override;
  Result<net::Verdict> check(const Caller& caller, const std::string& sandbox, const std::string& host,
                             uint16_t port) override;
  Result<std::vector<std::string>> learned(const Caller& caller, const std::string& sandbox) override;
  Result<std::vector<NetworkRequest>> requests(const Caller& caller, const std::string& sandbox) override;
  Result<NetworkRequest> approve(const Caller& caller, const std::string& sandbox, const RequestName& request,
                                 Approval how) override;
  Result<NetworkRequest> reject(const Caller& caller, const std::string& sandbox, const RequestName& request,
                                const std::string& reason) override;
  Result<std::vector<NetworkRuleRecord>> approved_rules(const std::string& project) override;
  Result<void> withdraw_rule(const Caller& caller, const NetworkRuleRecord& rule) override;
  Result<NetworkBound> bound(const std::string& project, const std::string& agent) override;
  Result<std::vector<NetworkBound>> bounds(const std::string& project) override;
  Result<NetworkBound> set_bound(const Caller& caller, const std::string& project, const std::string& agent,
                                 const NetworkChange& change) override;

 private:
  class Listener;
  // An approval for one connection.
  struct Once {
    std::string rule;
    uint64_t connection = 0;  // that it has allowed; 0: none yet
  };
  // What is known of one sandbox's network.
  struct Box {
    explicit Box(uint64_t first_entry) : log(first_entry) {}

    std::mutex acting;      // while the gateway is told: one after the other
    bool attached = false;  // with `acting`, as what follows
    SandboxInfo sandbox;    // as of its policy
    std::atomic<bool> begun = false;

    NetworkLog log;
    std::mutex mutex;                              // of all below
    std::optional<net::NetworkCounters> counters;  // as of when nothing has happened since; see mark()
    uint64_t open = 0;                             // connections
    std::string project;
    std::string session;
    RequestBook requests;
    bool requests_known = false;
    std::vector<Once> once;
    std::set<std::pair<std::string, uint16_t>> learned;
  };
  using Shared = std::shared_ptr<Box>;
  using NetworkCounters = net::NetworkCounters;

  Result<void> record_server_policy();
  Shared find(const std::string& sandbox_id) const;
  Shared box_of(const std::string& sandbox_id);
  std::vector<Shared> all() const;
  Result<void> attach(Box& box, const std::string& sandbox_id, const Open& open);
  void close(Box& box, const std::string& sandbox_id);
  Result<void> renew(Box& box);
  Result<PolicySources> sources_of(const SandboxInfo& sandbox, uint64_t& version);

  // What the gateway tells.
  void take(net::NetworkEntry entry);
  void take_access_request(const std::string& sandbox, const std::string& host, uint16_t port,
                           const std::string& reason);
  void note_request(const Shared& box, const std::string& sandbox_id, NetworkRequest request);
  static void count_open(Box& box, const net::NetworkEntry& entry);
  void follow_approvals(Box& box, const net::NetworkEntry& entry);
  static void learn(Box& box, const net::NetworkEntry& entry);

  // deciding.cc
  Result<void> know_requests(Box& box, const std::string& sandbox_id);  // with its mutex held
  void record_request(const NetworkRequest& request, const std::string& gone);
  Result<void> put_request(const NetworkRequest& request, const std::string& actor, const char* kind);
  Result<NetworkRequest> settle(const Caller& caller, const SandboxInfo& sandbox, const RequestName& name,
                                const std::function<Result<void>(NetworkRequest&)>& decide, const char* kind);
  Result<void> allow(const Caller& caller, const SandboxInfo& sandbox, const NetworkRequest& request, Approval how);
  Result<void> raise_versions(const Caller& caller, const std::string& project, const std::string& subject,
                              const std::string& but);
  Result<void> remember(const Caller& caller, const SandboxInfo& sandbox, const std::string& rule);
  std::vector<std::string> begun_for(const std::string& project, const std::string& subject) const;
  void end_approval(const std::string& sandbox_id, const std::string& rule);

  // bounds.cc
  Result<NetworkBound> find_bound(const std::string& project, const std::string& agent);
  std::string subject_of(const SandboxInfo& sandbox) const;

  const Parts parts_;
  const NetworkPolicy server_;
  uint64_t server_version_ = 0;

  mutable std::mutex mutex_;  // of the map, and of what follows
  std::map<std::string, Shared> boxes_;
  std::shared_ptr<NetworkSecrets> secrets_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> image_hosts_;  // by image and group

  std::mutex bounds_mutex_;  // while one changes
  BackgroundJobs jobs_;      // what the gateway's thread must not wait for
  BackgroundJobs counts_;    // since_later()
  std::unique_ptr<net::Gateway> gateway_;
};

}  // namespace cove::engine
