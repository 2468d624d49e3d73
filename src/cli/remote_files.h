#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "run/run_once.h"

// Copies the files of a `cove run` through a server, with the same rules as without one.
namespace cove::cli {

// Relative destinations start at `folder`, the working folder.
Result<void> bring_in(Api& api, const client::Place& folder, const CopyIn& order);
Result<void> bring_in(Api& api, const client::Place& folder, const InlineFile& file);

// Links are never followed and never copied; only files and folders are copied. Fails with Exhausted if there are more
// than `room` bytes; `room` is reduced by what was copied. Copied files are added to `files` and skipped ones to
// `denials`, as in an ExecResult.
Result<void> bring_out(Api& api, const client::Place& folder, const CopyOut& order, uint64_t& room, Json& files,
                       Json& denials);

}  // namespace cove::cli
