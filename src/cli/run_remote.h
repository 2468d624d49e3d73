#pragma once

#include "base/result.h"
#include "cli/run_order.h"
#include "cli/session.h"

namespace cove::cli {

// A `cove run` through a server, with this process's streams: one request, whose answer is the stream of its output.
// Where files are to be copied in or out, a sandbox that lives as long as its connection, and a request for each step.
// A server that an older cove started is replaced afterwards. The ExecResult as `cove run --json` prints it. Warnings
// go line by line to `warn`.
Result<Json> run_remote(Api& api, const RunRequest& request, const Warn& warn);

// Whether a server can be asked for it at all: what it is sent is JSON, which has no place for other bytes than UTF-8.
bool fits_json(const RunRequest& request);

}  // namespace cove::cli
