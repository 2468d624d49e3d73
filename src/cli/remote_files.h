#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "run/run_once.h"

// The files of a `cove run` that goes through a server, with the rules that it has without one.
namespace cove::cli {

// `folder` is where relative destinations begin: the working folder.
Result<void> bring_in(Api& api, const client::Place& folder, const CopyIn& order);
Result<void> bring_in(Api& api, const client::Place& folder, const InlineFile& file);

// Links are never followed and never copied; what is neither file nor folder is left out. Stops with Exhausted when
// more than `room` bytes would come; `room` shrinks by what came. Files come to `files` and what was left out to
// `denials`, as in an ExecResult.
Result<void> bring_out(Api& api, const client::Place& folder, const CopyOut& order, uint64_t& room, Json& files,
                       Json& denials);

}  // namespace cove::cli
