#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace cove::live {

// How much output of its execs is kept for one sandbox (the setting `exec_logs`). Half of it is for those that run, in
// equal parts; where all together have more, the logs of ended execs are emptied, the oldest first. What is kept also
// counts to the project. Thread-safe.
class LogBudget {
 public:
  using Counter = std::atomic<uint64_t>;
  static constexpr uint64_t kLeastWindow = 1 << 20;

  LogBudget(uint64_t most, std::shared_ptr<Counter> project) : most_(most), project_(std::move(project)) {}
  ~LogBudget();

  // The log of an exec that runs; an ended one's when it is let go.
  class Share {
   public:
    Share(std::shared_ptr<LogBudget> budget, std::string path);
    ~Share();
    Share(const Share&) = delete;
    // How much is in it now.
    void set(uint64_t bytes);
    // How much may be in it.
    uint64_t window() const { return budget_->window(); }

   private:
    const std::shared_ptr<LogBudget> budget_;
    const std::string path_;
    uint64_t bytes_ = 0;
  };

  // Counts the logs that an earlier server left in the sandbox's folder.
  void recover(const std::string& folder);
  // The log of an ended exec was removed.
  void forget(const std::string& path);
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  struct Ended {
    std::string path;
    uint64_t bytes;
  };
  uint64_t window() const;
  void change(uint64_t from, uint64_t to);
  void keep_within();

  const uint64_t most_;
  const std::shared_ptr<Counter> project_;
  std::atomic<uint64_t> used_ = 0;
  std::atomic<uint64_t> running_ = 0;
  std::mutex mutex_;
  std::set<std::string> open_;  // paths of those that run
  std::deque<Ended> ended_;     // the oldest first
};

}  // namespace cove::live
