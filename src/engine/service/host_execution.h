#pragma once

#include "auth/caller.h"
#include "engine/engine.h"
#include "engine/service/caller_presence.h"
#include "engine/service/run_sink.h"
#include "engine/session/placement.h"
#include "runtime/host_runner.h"

// Commands that run on the host itself, in the modes that have that.
namespace cove::engine {

struct HostOrder {
  ExecOrder order;
  Workspace workspace;
  Placement placement;  // Host or HostIfHarmless
};

// What became of it.
struct HostOutcome {
  enum class What { Ran, Left, NotHarmless };  // Left: its caller did, and it was killed; NotHarmless: nothing was run
  What what = What::Left;
  Ran ran = {};
  std::string why = {};  // why it ran there, or is to run in the sandbox
};

// `limits` are those that hold where the order names none. Without a sink only the result is wanted. While it runs, its
// caller is waited for: where he leaves, or the server stops, it is killed.
Result<HostOutcome> run_on_host(HostRunner& runner, const Caller& caller, const HostOrder& order, const Limits& limits,
                                CallerPresence& presence, RunSink* sink);

// For the event stream: what ran outside of all walls must be found there.
void note_host_run(Engine& engine, const Caller& caller, const HostOrder& order, const HostOutcome& ran);

}  // namespace cove::engine
