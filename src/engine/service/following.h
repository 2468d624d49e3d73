#pragma once

#include "engine/exec/exec.h"
#include "engine/service/caller_presence.h"
#include "engine/service/run_sink.h"

// Waiting for an exec on behalf of a caller who may leave.
namespace cove::engine {

// How it ended; an error where Cove itself failed, so that there is no result.
Result<ExecResult> result_of(const Exec& exec);

// Until it has ended. Where the caller leaves before that, it is killed if so wished. Stopping: the server stops and
// the exec goes on.
enum class Waited { Ended, Left, Stopping };
Result<Waited> wait_for_end(Exec& exec, CallerPresence& caller, OnDisconnect on_disconnect);

// Passes output on as it comes, until all of it is passed and the exec has ended, or the caller has left, or the server
// stops.
enum class FollowEnd { Whole, Left, Stopping };
Result<FollowEnd> pass_output(Follower& follower, CallerPresence& caller, RunSink& sink);

}  // namespace cove::engine
