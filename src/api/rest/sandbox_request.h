#pragma once

#include "api/rest/problem.h"
#include "api/rest/request_json.h"
#include "engine/sandbox_info.h"

// Bodies of requests about sandboxes, as orders to the engine.
namespace cove::api {

// Takes every field of `fields`, but does not finish it. Limits that are there count as named, and
// are refused where this machine cannot give them, or nothing could run with them.
Result<void> take_limits(Fields& fields, Limits& limits);

// The fields of `spec` that travel that way, where they are there.
Result<void> take_fields(Fields& fields, unsigned way, SandboxSpec& spec);
// What there is of a network policy.
Result<void> take_network(Fields& fields, NetworkPolicy& network);
// What is to be changed of one: `network`.
Result<std::optional<NetworkChange>> take_network_change(Fields& fields);

// {"path": …, "access": …}; nothing where there is none. Unsupported for an access that no runtime has.
Result<Workspace> take_workspace(Fields& fields);
// The runtime's name; the configuration's where none is given.
Result<std::string> take_runtime(Fields& fields, const Config& config);

// What is not there is as the configuration has it. 501 for what comes later.
Checked<engine::CreateOrder> parse_create(const Json& body, const Config& config);

// Labels and variables are merged with those of the sandbox as it is; a null removes one.
Result<engine::UpdateOrder> parse_update(const Json& body, const engine::SandboxInfo& now);

// Variables, in the order of their names.
Result<Environment> take_environment(Fields& fields, const std::string& name);

}  // namespace cove::api
