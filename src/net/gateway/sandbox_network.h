#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "net/gateway/acceptor.h"
#include "net/gateway/dns_server.h"
#include "net/gateway/flow.h"
#include "net/gateway/internal_page.h"
#include "net/gateway/names.h"
#include "net/gateway/sandbox_context.h"
#include "net/gateway/services.h"
#include "net/gateway/udp_relay.h"
#include "net/sockets.h"

namespace cove::net {

// The network of one sandbox: its sockets, its policy, its connections. Serves once it has sockets and a policy.
class SandboxNetwork final : public SandboxContext {
 public:
  SandboxNetwork(Services& services, std::string id);
  ~SandboxNetwork() override;  // cuts everything

  // Replaces earlier sockets; open connections stay.
  void attach(NetworkSockets sockets);
  // Also decides anew on all that is open; what is no longer allowed is cut when this returns. Invalid: no rule of it
  // counts, nothing is allowed.
  Result<void> set_policy(EffectivePolicy policy);
  // Cuts the oldest connection of which nothing is known yet; false where there is none.
  bool drop_undecided();

  // An exec has ended: denials that are the same as its own are logged anew.
  void forget_logged();

  uint64_t in_bytes() const { return in_bytes_; }
  uint64_t out_bytes() const { return out_bytes_; }
  uint64_t connections() const { return connections_; }
  uint64_t dropped_entries() const { return dropped_; }

  // For its flows.
  Services& services() { return services_; }
  InternalPage& internal_page() { return *internal_page_; }
  void add(std::unique_ptr<Flow> flow);
  void end(Flow& flow);  // destroys it after the handlers of this turn
  // Whether TLS to that server is to be intercepted.
  bool has_secret_for(const std::string& name, uint16_t port) const;
  // Whether cleartext HTTP needs not be read: in the full tiers, where nothing is blocked.
  bool passes_requests() const { return passes_requests_; }
  void count_connection() { ++connections_; }
  Verdict budget_denial() const;
  bool over_byte_budget() const;

  // SandboxContext
  const std::string& id() const override { return id_; }
  Loop& loop() override { return services_.loop; }
  NameTable& names() override { return names_; }
  const EffectivePolicy& policy() const override { return policy_; }
  const CompiledPolicy& rules() const override { return rules_; }
  Verdict decide_lookup(const std::string& name) const override;
  Verdict decide(const Target& target) const override;
  Verdict check_resolved(const Target& target, const Address& address) const override;
  void log(NetworkEntry entry) override;
  void log_denial(const Target& target, const Verdict& verdict) override;
  const std::deque<NetworkEntry>& recent_denials() const override { return denials_; }
  void request_access(const std::string& host, uint16_t port, const std::string& reason) override;
  uint64_t next_connection() override { return ++last_connection_; }
  void count(uint64_t in_bytes, uint64_t out_bytes) override;
  bool over_budget() const override;

 private:
  void begin_serving();
  void accepted(UniqueFd client, const Wanted& wanted);
  void serve_gateway_address(UniqueFd client, const Wanted& wanted);
  void refuse_too_many(const Wanted& wanted);
  Verdict learned(Verdict verdict) const;
  void cut_over_budget();
  void destroy_ended();

  Services& services_;
  std::string id_;
  NameTable names_;
  EffectivePolicy policy_;
  CompiledPolicy rules_;
  std::vector<Rule> secret_hosts_;
  bool passes_requests_ = false;
  bool has_policy_ = false;
  std::deque<NetworkEntry> denials_;
  uint64_t in_bytes_ = 0;
  uint64_t out_bytes_ = 0;
  uint64_t connections_ = 0;
  uint64_t dropped_ = 0;
  uint64_t last_connection_ = 0;
  bool cutting_ = false;
  std::shared_ptr<SandboxNetwork*> self_;  // for calls that may come after the end
  std::unique_ptr<DnsServer> dns_;
  std::unique_ptr<InternalPage> internal_page_;
  std::map<uint64_t, std::unique_ptr<Flow>> flows_;  // by number: the oldest first
  std::vector<std::unique_ptr<Flow>> ended_;
  NetworkSockets sockets_;
  std::unique_ptr<UdpRelay> udp_;
  std::optional<Acceptor> acceptor_;
};

}  // namespace cove::net
