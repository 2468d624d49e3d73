#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "base/result.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "engine/sandbox_info.h"
#include "net/channel.h"
#include "net/gateway_client.h"
#include "runtime/runtime.h"
#include "store/records.h"

namespace cove::engine {

// A denial that was not settled yet, as a proposal that a person approves or rejects.
struct NetworkRequest {
  std::string id;
  std::string sandbox_id;
  std::string session;
  std::string project;
  std::string host;
  uint16_t port = 0;
  std::string rule;               // that would be added: "host:port"
  std::string layer;              // that denied it: rules of others cannot be changed by approving
  std::string reason;             // of who asks inside, or why it was denied
  std::string state = "pending";  // "approved", "rejected"
  std::string approved;           // "once", "session", "always"
  std::string decided_by;
  std::string note;
  uint64_t count = 1;  // how often it was denied
  int64_t created_ms = 0;
  int64_t decided_ms = 0;
};
// once: until the next connection that it allows has ended; session: while the sandbox or session lives; always: also
// for later sandboxes of the same agent or, without one, of the same image in the project.
enum class Approval { Once, Session, Always };
const char* approval_name(Approval approval);  // "once"
std::optional<Approval> parse_approval(std::string_view name);

// A bound that belongs to a project, or to one of its agents.
struct NetworkBound {
  std::string project;
  std::string agent;  // empty: the whole project's
  NetworkPolicy policy;
  uint64_t version = 0;  // 0: there is none
};
// That leaves everything as it is.
inline NetworkPolicy no_bound() {
  NetworkPolicy policy;
  policy.tier = NetworkTier::Unrestricted;
  policy.enabled = true;
  return policy;
}

// Puts brokered secrets into policies, and the authority that they need. Thread-safe.
struct NetworkSecrets {
  virtual ~NetworkSecrets() = default;
  virtual Result<void> fill(const SandboxInfo& sandbox, net::EffectivePolicy& policy) = 0;
};

using MakeGateway = std::function<Result<std::unique_ptr<net::Gateway>>(std::shared_ptr<net::Gateway::Listener>)>;

// Of a runtime that cannot give a sandbox a network, none is promised: Unsupported.
inline Result<void> check_can_have_network(const Capabilities& runtime) {
  if (runtime.network) return {};
  return fail(Error(Code::Unsupported, concat("the runtime '", runtime.name, "' cannot give a sandbox a network"))
                  .hint("use the tier 'sandbox' or 'restricted', and copy in what is needed, or another runtime")
                  .at("/network"));
}

// The networks of sandboxes: their effective policies, what the gateway says of them, and what people decide.
// Thread-safe. A sandbox is named by its id, or by its name in the caller's project.
class Networks {
 public:
  virtual ~Networks() = default;

  // --- for the life of a sandbox -------------------------------------------------------------------------------------
  using Open = std::function<Result<NetworkSockets>()>;  // as Sandbox::open_network
  // Sockets, but no policy yet: nothing gets out. For a sandbox that is kept ready.
  virtual Result<void> prepare(const std::string& sandbox_id, const Open& open) = 0;
  // Its network is ready when this returns: sockets at the gateway and its policy in force. `open` is not called where
  // prepare() was. An error: it has no network, and nothing gets out.
  virtual Result<void> begin(const SandboxInfo& sandbox, const Open& open) = 0;
  virtual void end(const std::string& sandbox_id) = 0;
  // Nothing of it is needed any more.
  virtual void forget(const std::string& sandbox_id) = 0;
  // The spec has changed: acts before it returns. Nothing happens where no network was begun. An error: it has no
  // network any more.
  virtual Result<void> refresh(const SandboxInfo& sandbox) = 0;
  // A bound or a secret of the project has changed: the same for each of its sandboxes.
  virtual Result<void> refresh_all(const std::string& project) = 0;
  virtual Result<net::EffectivePolicy> effective(const SandboxInfo& sandbox) = 0;
  virtual void set_secrets(std::shared_ptr<NetworkSecrets> secrets) = 0;

  // --- for an exec ---------------------------------------------------------------------------------------------------
  // Bytes and denials are a sandbox's: each of several concurrent execs reports all that happened meanwhile.
  struct Mark {
    net::NetworkCounters counters;
    uint64_t entry = 0;
  };
  // Empty where it has no network.
  virtual std::optional<Mark> mark(const std::string& sandbox_id) = 0;
  struct Since {
    net::NetworkCounters counters;  // differences
    std::vector<Denial> denials;    // one for each host and port, at most kMostDenials
  };
  static constexpr size_t kMostDenials = 32;
  virtual Since since(const std::string& sandbox_id, const Mark& mark) = 0;
  // The same, by a thread of its own: asking the gateway takes a moment.
  virtual void since_later(const std::string& sandbox_id, const Mark& mark, std::function<void(Since)> done) = 0;

  // --- for people ----------------------------------------------------------------------------------------------------
  struct LogEntry {
    uint64_t seq = 0;  // rises; also over a restart of the server
    net::NetworkEntry entry;
  };
  // Those after `after`, oldest first. The newest kKeptEntries of each sandbox are kept, in memory.
  static constexpr size_t kKeptEntries = 4096;
  virtual Result<std::vector<LogEntry>> log(const Caller& caller, const std::string& sandbox, uint64_t after,
                                            size_t limit) = 0;
  // An eventfd that becomes readable when the sandbox has new entries; the reader clears it.
  struct LogFollower {
    UniqueFd fd;
  };
  virtual Result<std::shared_ptr<LogFollower>> follow_log(const Caller& caller, const std::string& sandbox) = 0;

  // `host`: a name or an address.
  virtual Result<net::Verdict> check(const Caller& caller, const std::string& sandbox, const std::string& host,
                                     uint16_t port) = 0;
  // What a sandbox that learns has reached and no list names, as rules: named groups where they fit.
  virtual Result<std::vector<std::string>> learned(const Caller& caller, const std::string& sandbox) = 0;

  // Oldest first; at most kMostRequests are kept of a sandbox.
  static constexpr size_t kMostRequests = 256;
  virtual Result<std::vector<NetworkRequest>> requests(const Caller& caller, const std::string& sandbox) = 0;
  struct RequestName {
    std::string id;    // of the request, or
    std::string rule;  // exactly as it was shown; where both are given, both must fit
  };
  // Need the scope `approve`. Conflict where it is decided already, the rule is another than was shown, or another
  // layer than the sandbox's own denied it.
  virtual Result<NetworkRequest> approve(const Caller& caller, const std::string& sandbox, const RequestName& request,
                                         Approval how) = 0;
  virtual Result<NetworkRequest> reject(const Caller& caller, const std::string& sandbox, const RequestName& request,
                                        const std::string& reason) = 0;

  // Rules that were approved for good: the subject is "agent:NAME" or "image:NAME".
  virtual Result<std::vector<NetworkRuleRecord>> approved_rules(const std::string& project) = 0;
  // Needs the scope `approve` or `manage`; acts before it returns. NotFound.
  virtual Result<void> withdraw_rule(const Caller& caller, const NetworkRuleRecord& rule) = 0;

  virtual Result<NetworkBound> bound(const std::string& project, const std::string& agent) = 0;
  virtual Result<std::vector<NetworkBound>> bounds(
      const std::string& project) = 0;  // the project's own and its agents'
  // Acts on running sandboxes before it returns.
  virtual Result<NetworkBound> set_bound(const Caller& caller, const std::string& project, const std::string& agent,
                                         const NetworkChange& change) = 0;
};

}  // namespace cove::engine
