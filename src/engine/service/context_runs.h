#pragma once

#include <optional>
#include <string>

#include "engine/context/contexts.h"
#include "engine/service/caller_presence.h"
#include "engine/service/run_sink.h"
#include "engine/session/sessions.h"

namespace cove::engine {

// Code for a context.
struct CodeOrder {
  std::string context;                   // its id or name; kDefaultContext: the usual one of the language
  std::optional<LanguageWish> language;  // where it was named
  ExecOrder order;                       // code and limits
};

// Runs code in contexts. Each piece is an exec on record, from when it has its turn in the context. Thread-safe; one
// call is one thread's.
class ContextRuns {
 public:
  // All must outlive it.
  ContextRuns(Engine& engine, Sessions& sessions, Contexts& contexts)
      : engine_(engine), sessions_(sessions), contexts_(contexts) {}

  // To its end, or to that of its caller: nothing then, and the code is interrupted. A sink gets what it prints and
  // shows. Unavailable where the server stops meanwhile, and there is no sink.
  Result<std::optional<Ran>> run(const Caller& caller, const std::string& sandbox, CodeOrder order,
                                 CallerPresence& presence, RunSink* sink);
  // In the sandbox of a session.
  Result<std::optional<Ran>> run_in_session(const Caller& caller, const std::string& session, CodeOrder order,
                                            CallerPresence& presence, RunSink* sink);

 private:
  Engine& engine_;
  Sessions& sessions_;
  Contexts& contexts_;
};

}  // namespace cove::engine
