#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace cove::api {

// What the execs of each project have used in all, added up from the events of their ends. Reads on from where it was
// at the last call, so only the first one is long. Goes back as far as events are kept. Thread-safe.
class Totals {
 public:
  using Sums = std::map<std::string, uint64_t>;  // by the names of Usage, and "execs"
  Result<Sums> of(engine::Engine& engine, const Caller& caller);
  // Of some of them: all of their events are read.
  static Result<Sums> of(engine::Engine& engine, const Caller& caller, EventFilter filter);

 private:
  struct Progress {
    uint64_t after = 0;
    Sums sums;
  };
  static Result<void> read_on(engine::Engine& engine, const Caller& caller, const EventFilter& filter,
                              Progress& progress);
  std::mutex mutex_;
  std::map<std::string, Progress> projects_;
};

// Adds the usage of an `exec.ended` event's data.
void add_usage(Totals::Sums& sums, const std::string& event_data);

}  // namespace cove::api
