#pragma once

#include <functional>
#include <string>
#include <vector>

#include "auth/caller.h"
#include "config/config.h"
#include "net/policy.h"

// Whose policies decide for a sandbox, and who may change them: decisions, without effects.
namespace cove::engine {

struct PolicySources {
  NetworkPolicy server;
  NetworkPolicy project;
  NetworkPolicy agent;
  NetworkPolicy own;
  std::string own_name = "sandbox";   // "session" where one made it
  std::vector<std::string> approved;  // rules that the sandbox's own list has besides, where it has a network
};
NetworkPolicy server_policy(const Config& config);
// A bound that bounds nothing is left out.
std::vector<net::PolicyLayer> layers_of(const PolicySources& sources);

// Behind groups whose hosts come from the image, in any list, these hosts; `hosts` is asked for each.
using ImageHosts = std::function<Result<std::vector<std::string>>(const std::string& group)>;
Result<void> resolve_image_groups(std::vector<net::PolicyLayer>& layers, const ImageHosts& hosts);

using Role = net::PolicyLayer::Role;
// What the second lets through and the first does not, in words; empty where it is nothing.
std::string widening(const NetworkPolicy& before, const NetworkPolicy& after, Role role);

// May the caller make a sandbox or a session with it? Denied: the tier, learning, or addresses that are not public or
// are this machine's.
Result<void> check_made(const Caller& caller, const NetworkPolicy& policy, const Config& config);
// May he change it so? Denied without the scopes; Conflict where the tier rises by more than one step: sandbox and
// restricted are one, both without a network.
Result<void> check_changed(const Caller& caller, const NetworkPolicy& before, const NetworkPolicy& after,
                           const Config& config);

}  // namespace cove::engine
