#pragma once

#include <optional>
#include <string>

#include "cli/attach_session.h"
#include "cli/session.h"

namespace cove::cli {

// One command in a sandbox, with this process's streams: from its start to its end. The server may be another one by
// then. Output, errors and signals are passed on; the terminal, where the exec has one, is as it was afterwards.
struct ForegroundExec {
  std::string sandbox;
  Json order;  // the body of the request
  AttachOrder attach;
};
// The ExecResult; {detached: true, sandbox_id, exec_id} where the user has left it running with the detach keys.
Result<Json> run_in_foreground(Api& api, Caller& caller, const ForegroundExec& exec);

// The same for one that was just started.
Result<Json> follow_to_end(Api& api, Caller& caller, const Json& started, const AttachOrder& order);

// The same for one that a call to /v1/execute has started, whose stream has told so. The call removes its sandbox with
// the stream, unless its server ended before: then the sandbox is the caller's to remove.
struct Executed {
  Json result;
  bool left_by_server = false;
};
Result<Executed> follow_to_end(Api& api, Caller& caller, client::EventStream events, const ExecName& name,
                               const AttachOrder& order);

// Attaches to an exec; nothing where the user has left it.
Result<std::optional<Json>> attach_to(Api& api, Caller& caller, const std::string& sandbox, const std::string& exec,
                                      const AttachOrder& order);

// Of the caller's terminal, else the usual one.
Json window_size_body();

}  // namespace cove::cli
