#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/background_jobs.h"
#include "engine/exec/exec.h"
#include "engine/exec/exec_log.h"
#include "engine/exec/log_budget.h"
#include "engine/exec/pump.h"
#include "run/verdict.h"
#include "runtime/runtime.h"
#include "secret/mask.h"
#include "store/store.h"

namespace cove::engine {

// What an exec needs of the sandbox that it runs in.
struct ExecHost {
  virtual ~ExecHost() = default;
  virtual Result<void> signal_exec(const std::string& exec, int number, SignalReach reach) = 0;
  virtual Result<void> resize_exec(const std::string& exec, WindowSize size) = 0;
  virtual Result<void> kill_exec(const std::string& exec) = 0;
  virtual Result<void> close_exec_input(const std::string& exec) = 0;
  // It has ended and all of its output is taken.
  virtual void let_exec_go(const std::string& exec) = 0;
};

// What an exec did on the network.
struct NetworkUse {
  uint64_t in_bytes = 0;
  uint64_t out_bytes = 0;
  std::vector<Denial> denials;
};
// Finds that out, and tells it from another thread.
using AskNetworkUse = std::function<void(std::function<void(NetworkUse)>)>;

// What all execs share.
struct ExecTools {
  Store& store;
  Pump& pump;
  BackgroundJobs& errands;
  Clock& clock;
  std::function<void(const ExecInfo& info, double seconds)> ended;  // for the metrics
};

// An exec of a sandbox: moves its output into its log, holds its time and output limits, and records its end.
class LiveExec : public Exec, public Pump::Source, public std::enable_shared_from_this<LiveExec> {
 public:
  struct Parts {
    ExecInfo info;
    Limits limits;            // in force
    EnforcedLimits enforced;  // for the result
    std::string project;
    std::string actor;
    std::string log_path;
    std::weak_ptr<ExecHost> host;
    std::shared_ptr<LogBudget> logs;                     // none: its log has no share
    AskNetworkUse ask_network;                           // none: it has no network
    std::shared_ptr<const MaskPatterns> mask = nullptr;  // of its output and of what is said of it; null: nothing
  };
  LiveExec(const ExecTools& tools, Parts parts);
  ~LiveExec() override;

  // Goes on with the log that an earlier server wrote.
  Result<void> recover_log();
  // Takes the streams and starts the clock.
  Result<void> begin(Attachment streams);
  // Writes all of its input and closes it, without keeping the caller waiting. Not with the sandbox's lock held.
  void feed(std::string input);
  // What code in a context has printed, in place of streams; and its end.
  std::string write(Stream stream, std::string_view data);
  std::string rest(Stream stream);
  void end(ExecResult result);
  // Its end; called with the sandbox's lock held.
  void end(const ExecEnded& event);
  void end(const ExecFailed& event);
  // It never ran, or nobody knows how it ended.
  void end_unknown(const std::string& why);

  void retag(const std::string& tag);

  ExecInfo info() const override;
  bool ended() const override;
  std::optional<Error> failure() const override;
  Result<std::unique_ptr<Follower>> follow(uint64_t from_seq) override;
  Result<UniqueFd> end_fd() override;
  Result<void> write_input(std::string_view data, std::chrono::milliseconds patience) override;
  Result<size_t> offer_input(std::string_view data, std::chrono::milliseconds patience) override;
  Result<void> close_input() override;
  Result<void> signal(int number, bool group) override;
  Result<void> resize(WindowSize size) override;
  Result<void> kill() override;

  void on_ready(int which) override;
  void on_time() override;

 private:
  class LiveFollower;
  struct Output {
    UniqueFd fd;
    uint64_t token = 0;
    Stream stream = Stream::Out;
    bool waiting = false;  // for a reader to catch up
    std::optional<MaskStream> mask;
  };

  Result<void> watch(Output& output);
  void close(Output& output);
  bool take(Output& output);
  Result<std::optional<size_t>> take_masked(Output& output);
  void show(Output& output, std::string_view data);
  void show_rest(Output& output);
  void expect_rest();
  void show_what_waits();
  ExecResult masked(ExecResult result) const;
  uint64_t log_window() const { return share_ ? share_->window() : ExecLog::kWindow; }
  void drain(Output& output);
  void discard(Output& output);
  bool readers_are_behind(uint64_t most) const;
  void follower_moved();
  void wake_followers();
  void check_output_limit();
  void force_end(Cause cause);
  ExecResult draft() const;
  void take_network_use(NetworkUse use);
  void conclude(ExecResult result);
  void settle(ExecResult result);
  void record_end(const std::string& status, const ExecResult& result);
  UsageRecord usage_record(const std::string& status, const Usage& usage) const;
  void finished(double seconds);
  Result<std::shared_ptr<ExecHost>> host() const;

  const ExecTools& tools_;
  Parts parts_;
  ExecLog log_;
  std::optional<LogBudget::Share> share_;  // while it runs

  mutable std::mutex mutex_;  // of all below
  Output outputs_[2];
  std::vector<LiveFollower*> followers_;
  std::vector<UniqueFd> end_fds_;
  std::optional<Error> failure_;
  Cause cause_ = Cause::None;
  bool asked_to_end_ = false;
  std::optional<Clock::Time> deadline_;
  std::optional<ExecResult> waiting_result_;  // it has ended, and its use of the network is being asked for

  std::mutex input_mutex_;
  UniqueFd input_;
};

}  // namespace cove::engine
