#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/run_order.h"
#include "cli/session.h"

namespace cove::cli {

// Runs `cove run` through a server with this process's streams: one request whose response streams the output. If files
// are copied in or out, a sandbox that lives as long as its connection, and one request per step. A server started by
// an older cove is replaced afterwards. Returns the ExecResult as `cove run --json` prints it. Calls `warn` once per
// line of warning.
Result<Json> run_remote(Api& api, const RunRequest& request, const Warn& warn);

// The same in a sandbox that is handed to `look` before it is removed. `network`: what is asked for besides the
// request's own.
using Look = std::function<void(Api& api, const std::string& sandbox)>;
Result<Json> run_and_look(Api& api, const RunRequest& request, const Json& network, const Warn& warn, const Look& look);

// Whether the request can be sent to a server: it is JSON, which cannot carry bytes that are not UTF-8.
bool fits_json(const RunRequest& request);

}  // namespace cove::cli
