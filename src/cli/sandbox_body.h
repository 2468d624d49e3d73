#pragma once

#include "cli/session.h"
#include "model/sandbox.h"

namespace cove::cli {

// Request bodies. They contain only what the caller has named, so that the server's defaults apply to the rest.
Json sandbox_body(const SandboxSpec& spec);
Json workspace_body(const Workspace& workspace);
Json network_body(const NetworkPolicy& network);  // null where it is the usual one
// Those that are named; of these, those that an exec can have of its own.
Json limits_body(const Limits& limits);
Json exec_limits_body(const Limits& limits);
Json environment_body(const Environment& environment);

}  // namespace cove::cli
