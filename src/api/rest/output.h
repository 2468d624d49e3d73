#pragma once

#include "api/rest/call.h"
#include "api/rest/sse.h"
#include "engine/exec/exec.h"

// The output of execs, on its way to a caller.
namespace cove::api {

// How an exec ended; a problem where Cove itself failed, so that there is no result.
Checked<ExecResult> result_of(const engine::Exec& exec);

// Pieces of output, as events.
std::string chunk_events(const std::vector<engine::Chunk>& chunks);
// The last event of a stream: the result, or why there is none.
std::string exit_event(const engine::Exec& exec, const Checked<ExecResult>& result);

// Sends output as it comes, until all of it is sent and the exec has ended, or the caller has gone, or the server
// stops.
enum class StreamEnd { Whole, Gone, Stopping };
Checked<StreamEnd> send_output(EventStream& stream, engine::Follower& follower);

// Streams from a number on until the exec has ended; whoever streams attends to it.
Outcome stream_output(Call& call, engine::Exec& exec, uint64_t from);

// What is there from a number on, as one document.
Outcome give_output(Call& call, engine::Exec& exec, uint64_t from);

}  // namespace cove::api
