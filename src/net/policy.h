#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/wire.h"
#include "model/network.h"
#include "net/rule.h"

namespace cove::net {

// One place that has a say, from the most general to the most special: the server, the project, the agent, the session,
// the sandbox. All of them must allow what is done, so the stricter one wins.
struct PolicyLayer {
  // A bound narrows what others allow: with an empty allow list it only bounds the tier and blocks. The sandbox's own
  // policy is its allow list: an empty one denies all in the tier `standard`.
  enum class Role : uint32_t { Bound, Own };
  std::string name;  // "server", "project", "session", "sandbox"
  Role role = Role::Own;
  NetworkPolicy policy;
  bool operator==(const PolicyLayer&) const = default;
};

// A secret that the gateway puts into requests in place of its placeholder.
struct BrokeredSecret {
  std::string name;
  std::string placeholder;
  std::string value;
  std::vector<std::string> hosts;  // rules of the kinds Name and Subdomains, with ports where they are named
  // Where it may stand: the name of a header ("authorization", which includes Basic; "x-api-key"), or "query".
  std::vector<std::string> places;
  bool operator==(const BrokeredSecret&) const = default;
};

// All that the gateway must know of a sandbox to decide.
struct EffectivePolicy {
  uint64_t version = 0;  // rises with every change
  std::vector<PolicyLayer> layers;
  bool learn = false;  // what no list names is allowed, and logged as such
  std::vector<BrokeredSecret> secrets;
  // With secrets: the sandbox's own certificate authority, PEM. Its key is never inside.
  std::string authority_certificate;
  std::string authority_key;
  bool operator==(const EffectivePolicy&) const = default;
};
void encode(wire::Writer& out, const EffectivePolicy& policy);
Result<EffectivePolicy> decode_policy(wire::Reader& in);

enum class Protocol { Tcp, Udp, Dns, Tls, Http };
const char* protocol_name(Protocol protocol);  // "tcp"

// What a program wants to reach. At least one of name and address is there.
struct Target {
  std::string name;                // normalized; empty: only an address was named
  std::optional<Address> address;  // that the program named, or that the name was resolved to
  uint16_t port = 0;
  Protocol protocol = Protocol::Tcp;
  std::string method;  // of an HTTP request, else empty
  std::string path;    // without its query
};

enum class Decision {
  Allow,
  Deny,
  // Rules for requests decide, be it that only they allow or that some block: allowed if the traffic turns out to be
  // HTTP whose requests decide() allows, denied where it cannot be read.
  NeedsRequest,
};
struct Verdict {
  Decision decision = Decision::Deny;
  std::string rule;   // that decided, as it is written; empty where none did
  std::string layer;  // whose it is
  std::string why;    // in words, of a denial: "pypi.org:443 is not on the allow list of the sandbox"
  std::string
      code;  // of a denial, stable: "no_network", "not_allowed", "blocked", "private_address", "needs_name", "protocol"
};

struct CompiledRule {
  Rule rule;  // never of the kind Group
  std::string written;
};
struct CompiledLayer {
  std::string name;
  PolicyLayer::Role role = PolicyLayer::Role::Own;
  bool lists = false;  // has an allow list, even if its groups have no hosts
  std::vector<CompiledRule> allow;
  std::vector<CompiledRule> block;
};

// The layers with their rules parsed and groups resolved; immutable.
class CompiledPolicy {
 public:
  // A rule that cannot be parsed is Invalid: nothing is ignored. The hosts of groups that come from the image stand
  // beside their rules already (image_hosts()).
  static Result<CompiledPolicy> compile(const std::vector<PolicyLayer>& layers);

  // The lowest tier of the layers; Sandbox where one has the network disabled, or there is none.
  NetworkTier tier() const { return layers_.empty() ? NetworkTier::Sandbox : tier_; }
  bool has_network() const { return tier() >= NetworkTier::Standard; }
  bool is_full() const { return tier() >= NetworkTier::Elevated; }

  // May this name be looked up: is there any port, method or path by which it can be reached?
  Verdict decide_lookup(const std::string& name) const;
  // May the target be reached? In the full tiers the sandbox's own allow list matters for private addresses only; the
  // lists of bounds always do. An address is also to be checked by check_resolved(), with or without a name.
  Verdict decide(const Target& target) const;
  // Whether an address that a name was resolved to, or that a program named, may be connected to: public, or in an
  // allowed network that lies within the private one; in no blocked one. An address of this machine (`own`) must be
  // allowed by itself: the rule is that address.
  Verdict check_resolved(const Target& target, const Address& address, bool own) const;
  // The smallest of the layers'; 0: none.
  NetworkBudget budget() const { return budget_; }

 private:
  void add(const PolicyLayer& layer, CompiledLayer compiled);
  bool is_bound_by(const CompiledLayer& layer) const;
  Verdict decide_block(const Target& target) const;
  Verdict decide_allow(const Target& target) const;
  std::vector<uint16_t> ports_named(const std::string& name) const;

  std::vector<CompiledLayer> layers_;
  NetworkTier tier_ = NetworkTier::Unrestricted;
  NetworkBudget budget_;
};

// Whether the rules of a policy, of the request's field `field`, are sound: Invalid names the rule at fault, as in
// "'network.allow[2]': the rule 'a b c': …", with its pointer.
Result<void> check_policy(const NetworkPolicy& policy, const std::string& field = "network");

}  // namespace cove::net
