#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "engine/exec/log_budget.h"
#include "store/records.h"

namespace cove::engine {

// What is kept of the execs of sandboxes that are gone: it counts to their project, up to a number of bytes in each;
// beyond that the oldest sandboxes' execs are dropped. Thread-safe.
class KeptExecs {
 public:
  using CounterOf = std::function<std::shared_ptr<LogBudget::Counter>(const std::string& project)>;
  // Drops the execs of a sandbox; must not block, or call back.
  using Drop = std::function<void(const std::string& sandbox)>;
  KeptExecs(uint64_t most, CounterOf counter_of, Drop drop)
      : most_(most), counter_of_(std::move(counter_of)), drop_(std::move(drop)) {}

  // Later ones were removed later.
  void add(const RemovedSandbox& sandbox);
  // Those of sandboxes that were removed before that time.
  void drop_before(int64_t removed_ms);
  // Drops the oldest of the project until so many bytes are free, where there are as many; sandboxes that live need
  // them. An empty project means all.
  void give_way(const std::string& project, uint64_t bytes);

 private:
  struct OfProject {
    std::shared_ptr<LogBudget::Counter> counter;
    std::deque<RemovedSandbox> sandboxes;  // the oldest first
    uint64_t used = 0;
  };
  void drop_oldest(OfProject& project);

  const uint64_t most_;
  const CounterOf counter_of_;
  const Drop drop_;
  std::mutex mutex_;
  std::map<std::string, OfProject> projects_;
};

}  // namespace cove::engine
