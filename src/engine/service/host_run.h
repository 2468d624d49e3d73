#pragma once

#include <functional>
#include <memory>

#include "engine/exec/exec.h"
#include "engine/sandbox_info.h"
#include "run/retained.h"
#include "run/verdict.h"
#include "runtime/host_runner.h"

namespace cove::engine {

// A command on the host, followed by the one thread that answers its caller: moves its streams, holds its time and
// output limits, and says how it ended. What is left of it when this goes is killed.
class HostRun {
 public:
  using Sink = std::function<void(Stream stream, const std::string& data)>;

  // `input` is written to it, then its input is closed.
  static Result<std::unique_ptr<HostRun>> create(std::unique_ptr<HostProcess> process, const Limits& limits,
                                                 std::string input);

  const std::string& id() const { return id_; }  // of the exec that it is
  int fd() const { return ready_.get(); }        // readable when `take` has something to do
  // Takes what there is now, without waiting.
  void take(const Sink& sink);
  bool over() const { return over_; }
  void kill(Cause cause);

  // After its end; an error where Cove itself failed.
  Result<ExecResult> result();

 private:
  struct Output {
    UniqueFd fd;
    Stream stream;
    Retained kept;
  };
  HostRun(std::unique_ptr<HostProcess> process, const Limits& limits, std::string input);
  Result<void> watch();
  void take_output(Output& output, const Sink& sink);
  void give_input();

  const std::string id_;
  std::unique_ptr<HostProcess> process_;
  Limits limits_;
  std::string input_;
  size_t given_ = 0;  // of the input
  UniqueFd ready_;    // epoll
  UniqueFd timer_;
  Output outputs_[2];
  uint64_t bytes_ = 0;
  std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point ended_;
  Cause cause_ = Cause::None;
  bool over_ = false;
};

}  // namespace cove::engine
