#pragma once

#include <memory>

#include "engine/context/contexts.h"
#include "engine/service/attendance.h"
#include "engine/service/context_runs.h"
#include "engine/service/executions.h"
#include "engine/session/sessions.h"

namespace cove::engine {

// The use cases that every face has in common, beside those of the engine itself: plain calls over plain values, of
// which none knows how it was asked. Thread-safe.
class Service {
 public:
  // The engine must outlive it.
  static std::unique_ptr<Service> open(Engine& engine);

  Sessions& sessions() { return *sessions_; }
  Contexts& contexts() { return contexts_; }
  Executions& executions() { return executions_; }
  ContextRuns& context_runs() { return context_runs_; }
  Attendance& attendance() { return attendance_; }

 private:
  explicit Service(Engine& engine)
      : sessions_(Sessions::open(engine)),
        contexts_(engine),
        executions_(engine, *sessions_),
        context_runs_(engine, *sessions_, contexts_) {}

  std::unique_ptr<Sessions> sessions_;
  Contexts contexts_;
  Executions executions_;
  ContextRuns context_runs_;
  Attendance attendance_;
};

}  // namespace cove::engine
