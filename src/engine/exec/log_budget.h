#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::engine {

// How much output of its execs is kept for one sandbox (the setting `exec_logs`): their logs, and their records with
// the results. Half of it is for those that run, in equal parts; where all together have more, the logs of ended execs
// are emptied, the oldest first, and then the oldest records are dropped, but never the newest one. What is kept also
// counts to the project. Thread-safe.
class LogBudget {
 public:
  using Counter = std::atomic<uint64_t>;
  static constexpr uint64_t kLeastWindow = 256 << 10;

  // Removes the record of an ended exec, by the path of its log; must not call back.
  using DropRecord = std::function<void(const std::string& path)>;

  LogBudget(uint64_t most, std::shared_ptr<Counter> project, DropRecord drop)
      : most_(most), project_(std::move(project)), drop_(std::move(drop)) {}
  ~LogBudget();

  // The log of an exec that runs; an ended one's when it is let go.
  class Share {
   public:
    Share(std::shared_ptr<LogBudget> budget, std::string path);
    ~Share();
    Share(const Share&) = delete;
    // How much is in it now.
    void set(uint64_t bytes);
    // How much its record takes, from its end on.
    void set_record(uint64_t bytes);
    // How much may be in it.
    uint64_t window() const { return budget_->window(); }

   private:
    const std::shared_ptr<LogBudget> budget_;
    const std::string path_;
    uint64_t bytes_ = 0;
    uint64_t record_ = 0;
  };

  struct Record {
    std::string id;
    uint64_t bytes;
  };
  // Counts what an earlier server left: logs in the sandbox's folder, and records of ended execs, the oldest first.
  void recover(const std::string& folder, const std::vector<Record>& records);
  // The log and the record of an ended exec were removed.
  void forget(const std::string& path);
  // Exhausted where as many run as there is room for.
  Result<void> check_room() const;
  // Lets go of it all: it counts elsewhere from now on. Nothing runs any more.
  void release();
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Ended {
    std::string path;
    uint64_t bytes;
    uint64_t record;
  };
  uint64_t most_running() const;
  uint64_t window() const;
  void change(uint64_t from, uint64_t to);
  void keep_within();

  const uint64_t most_;
  const std::shared_ptr<Counter> project_;
  const DropRecord drop_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> running_ = 0;
  std::mutex mutex_;
  std::set<std::string> open_;  // paths of those that run
  std::deque<Ended> ended_;     // the oldest first
};

}  // namespace cove::engine
