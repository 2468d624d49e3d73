#pragma once

#include "api/rest/call.h"
#include "api/rest/sse.h"
#include "engine/exec/exec.h"

// The output of execs, on its way to a caller.
namespace cove::api {

// Pieces of output, as events.
std::string chunk_events(const std::vector<engine::Chunk>& chunks);
// The last event of a stream.
std::string exit_event(uint64_t seq, const ExecResult& result);

// Streams from a number on until the exec has ended; whoever streams attends to it.
Outcome stream_output(Call& call, engine::Exec& exec, uint64_t from);

// What is there from a number on, as one document.
Outcome give_output(Call& call, engine::Exec& exec, uint64_t from);

}  // namespace cove::api
