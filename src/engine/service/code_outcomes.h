#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/context/contexts.h"
#include "run/retained.h"

namespace cove::engine {

// One piece of code in a context, from when it had its turn.
struct CodeRun {
  std::string exec_id;
  const ContextInfo& context;
  const SandboxInfo& sandbox;
  std::string placed = {};  // why it runs where it runs; may be empty
  int64_t started_ms = 0;
  double took_ms = 0;
  Usage usage = {};
  std::optional<ExecResult> interpreter_end = std::nullopt;  // where the interpreter has gone
};

// What the interpreter says, as values.
RichResult result_of(const KernelMessage& message);
CodeError error_of(const KernelMessage& message);

// What one piece of code comes to, gathered from what its interpreter says.
class CodeOutcomes {
 public:
  explicit CodeOutcomes(const Limits& limits)
      : limits_(limits), out_(limits.retained.value), err_(limits.retained.value) {}

  void take(KernelMessage message);
  bool done() const { return !status_.empty(); }
  // Nothing more will come.
  bool over() const { return done() || lost; }
  bool wrote_too_much() const { return limits_.output.value > 0 && written_ > limits_.output.value; }

  bool timed_out = false;
  bool killed = false;     // on request
  bool abandoned = false;  // its caller left, or the server stopped
  bool begun = true;
  bool started_too_late = false;  // its time was over before there was an interpreter
  bool lost = false;              // the interpreter ended meanwhile

  // Once.
  ExecResult result(const CodeRun& run);

 private:
  struct Given {
    size_t size = 0;
    RichResult value;
  };

  // By us, and not by itself.
  bool was_stopped() const { return timed_out || wrote_too_much() || (!ended_well() && (killed || abandoned)); }
  bool ended_well() const { return status_ == "ok"; }
  ExecStatus status() const;
  std::string why(ExecStatus status) const;
  void take_text(Retained& stream, const KernelMessage& message);
  void take_result(KernelMessage message);
  bool fits(size_t size) const;
  bool leave_out_displayed();
  bool replace_displayed(const KernelMessage& message);
  void clear_displayed();
  void tell_end(ExecResult& result, const ExecResult& interpreter, const std::string& placed) const;

  const Limits& limits_;
  Retained out_;
  Retained err_;
  uint64_t written_ = 0;
  std::vector<Given> results_;
  size_t result_bytes_ = 0;
  size_t left_out_ = 0;
  std::optional<CodeError> error_;
  std::string status_;
};

}  // namespace cove::engine
