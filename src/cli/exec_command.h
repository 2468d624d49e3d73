#pragma once

#include <optional>
#include <string>

#include "cli/attach_session.h"
#include "cli/session.h"

namespace cove::cli {

// Runs one command in a sandbox with this process's streams, from its start to its end, even if the server is replaced
// meanwhile. Output, errors and signals are passed on; the terminal, if the exec has one, is restored afterwards.
struct ForegroundExec {
  std::string sandbox;
  Json order;  // the body of the request
  AttachOrder attach;
};
// The ExecResult, or {detached: true, sandbox_id, exec_id} if the user has detached with the detach keys.
Result<Json> run_in_foreground(Api& api, Caller& caller, const ForegroundExec& exec);

// The same for an exec that was just started.
Result<Json> follow_to_end(Api& api, Caller& caller, const Json& started, const AttachOrder& order);

// The same for an exec that /v1/execute has started, as its stream has reported. The sandbox is removed when that
// stream ends; if the server ended before, the caller must remove the sandbox.
struct Executed {
  Json result;
  bool left_by_server = false;
};
Result<Executed> follow_to_end(Api& api, Caller& caller, client::EventStream events, const ExecName& name,
                               const AttachOrder& order);

// Attaches to an exec; empty if the user has detached.
Result<std::optional<Json>> attach_to(Api& api, Caller& caller, const std::string& sandbox, const std::string& exec,
                                      const AttachOrder& order);

// The size of the caller's terminal, or the default.
Json window_size_body();

}  // namespace cove::cli
