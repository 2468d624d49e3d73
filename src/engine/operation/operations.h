#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/operation/operation.h"
#include "engine/sandbox_info.h"
#include "store/store.h"

namespace cove::engine {

// Operations, those that run and those that have ended: all are on record in the store, with how far they are, and
// found by the next server. One that ran when the server ended has failed, with the code kInterrupted. Thread-safe.
class Operations {
 public:
  static constexpr size_t kMostAtOnce = 16;

  explicit Operations(Store& store);
  ~Operations();

  // That what an earlier server left running has failed. Before anything is started.
  Result<void> interrupt_lost();

  // Works on a thread of its own. Exhausted where kMostAtOnce run already.
  Result<OperationInfo> start(OperationTask task);
  // The same on this thread, for a caller who needs the outcome and nothing else, however many run.
  Result<std::string> run(OperationTask task);

  // NotFound.
  Result<OperationInfo> find(const std::string& project, const std::string& id);
  struct Filter {
    std::optional<OperationState> state;
    std::string kind;
  };
  // Oldest first.
  Result<Page<OperationInfo>> list(const std::string& project, const Filter& filter, const std::string& after,
                                   size_t limit);
  // Until it has ended or is not what it was at the version `seen`, but not longer than `patience`: what it is then.
  Result<OperationInfo> wait(const std::string& project, const std::string& id, uint64_t seen,
                             std::chrono::milliseconds patience);
  // Has it end soon; what it is now. Conflict where it has ended, or cannot be cancelled.
  Result<OperationInfo> cancel(const std::string& project, const std::string& id);

  // Those that ended before that time.
  void prune(int64_t ended_before_ms);
  // Cancels what can be cancelled, and waits for the end of all. Nothing is started from then on.
  void stop();

 private:
  struct Live {
    OperationInfo info;
    OperationTask task;
    std::thread thread;
    bool cancelled = false;
    uint64_t recorded = 1;  // the version on record
    int64_t recorded_ms = 0;
  };
  using Shared = std::shared_ptr<Live>;

  Result<Shared> begin(OperationTask task, size_t most);
  Result<std::string> work(const Shared& live);
  void end(Live& live, const Result<std::string>& outcome);
  void measure(Live& live) const;
  void keep_records();
  Shared find_live(const std::string& project, const std::string& id) const;

  Store& store_;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::map<std::string, Shared> running_;  // by id
  std::vector<std::thread> ended_;         // threads of those that have ended, to be joined
  bool stopping_ = false;
  std::thread keeper_;
};

}  // namespace cove::engine
