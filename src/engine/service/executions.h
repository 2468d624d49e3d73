#pragma once

#include <expected>
#include <memory>
#include <optional>

#include "engine/service/caller_presence.h"
#include "engine/service/execute_order.h"
#include "engine/service/host_execution.h"
#include "engine/service/run_sink.h"
#include "engine/service/work_files.h"
#include "engine/session/sessions.h"

namespace cove::engine {

// Why an execution did not come about.
struct ExecuteError {
  // Files: a file could not be put into the sandbox, and the errno value is of its own file system, where some are the
  // caller's mistakes.
  enum class Of { Cove, Files };
  Error error;
  Of of = Of::Cove;
  ExecuteError(Error with_error, Of with_of = Of::Cove) : error(std::move(with_error)), of(with_of) {}
};

// Runs commands and code where they are to run: in a sandbox of a session, of an agent or of their own, or on the host
// in the modes that have that. Thread-safe; one call is one thread's.
class Executions {
 public:
  // Both must outlive it.
  Executions(Engine& engine, Sessions& sessions) : engine_(engine), sessions_(sessions) {}

  // What runs commands on the host; before the first call. Without one, nothing can be run there.
  void set_host(std::unique_ptr<HostRunner> runner) { host_ = sessions_.host_execs().watch(std::move(runner)); }

  // Everything in one call: a sandbox, files in, a command or code, files out. Without a sink only the result is
  // wanted. Nothing where the caller has left: what ran for him is killed, or, where the server stops a stream that
  // he may take up again from the next one, goes on.
  std::expected<std::optional<Ran>, ExecuteError> execute(const Caller& caller, ExecuteOrder order,
                                                          CallerPresence& presence, RunSink* sink);

  // In a session: `exec` has begun in its sandbox, and who follows it is the caller's affair; or it ran on the host,
  // to its end (`ran`), or to that of its caller (neither).
  struct InSession {
    std::shared_ptr<Exec> exec = nullptr;
    std::optional<Ran> ran = std::nullopt;
  };
  Result<InSession> exec_in_session(const Caller& caller, const std::string& session, ExecOrder order,
                                    WaitedFor waited_for, CallerPresence& presence, RunSink* sink);

 private:
  Result<HostOutcome> try_host(const Caller& caller, const HostOrder& order, CallerPresence& presence, RunSink* sink);

  Engine& engine_;
  Sessions& sessions_;
  std::unique_ptr<HostRunner> host_;
  FreshHomes homes_;
};

}  // namespace cove::engine
