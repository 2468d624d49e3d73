#pragma once

#include <string>
#include <vector>

#include "api/rest/context_code.h"
#include "api/rest/response_json.h"
#include "engine/context/contexts.h"
#include "run/retained.h"

namespace cove::api {

// One piece of code in a context, from when it had its turn.
struct CodeRun {
  const engine::Execution* execution = nullptr;  // none where it never came to its turn
  const engine::ContextInfo& context;
  const CodePlace& place;
  const engine::SandboxInfo& sandbox;
  int64_t started_ms = 0;
  double took_ms = 0;
  Usage usage = {};
};

// What one execution comes to, gathered from what its interpreter says.
class Outcomes {
 public:
  explicit Outcomes(const Limits& limits) : limits_(limits), out_(limits.retained.value), err_(limits.retained.value) {}

  void take(engine::KernelMessage message);
  bool done() const { return !status_.empty(); }
  // Nothing more will come.
  bool over() const { return done() || lost; }
  bool wrote_too_much() const { return limits_.output.value > 0 && written_ > limits_.output.value; }

  bool timed_out = false;
  bool begun = true;
  bool started_too_late = false;  // its time was over before there was an interpreter
  bool lost = false;              // the interpreter ended meanwhile

  // The ExecResult, with what only contexts have beside it. Once.
  Json result(const CodeRun& run);

 private:
  struct Given {
    size_t size = 0;
    bool main = false;
    Json formats;
    std::string display_id = {};  // none where it is never replaced
  };

  // By us, and not by itself.
  bool was_stopped() const { return timed_out || wrote_too_much(); }
  ExecStatus status() const;
  std::string why(ExecStatus status) const;
  void take_text(Retained& stream, const engine::KernelMessage& message);
  void take_result(engine::KernelMessage message);
  bool fits(size_t size) const;
  bool leave_out_displayed();
  bool replace_displayed(const engine::KernelMessage& message);
  void clear_displayed();
  Json results_json();
  void tell_end(Json& document, const engine::ExecInfo& interpreter, const CodePlace& place) const;

  const Limits& limits_;
  Retained out_;
  Retained err_;
  uint64_t written_ = 0;
  std::vector<Given> results_;
  size_t result_bytes_ = 0;
  size_t left_out_ = 0;
  Json error_;
  std::string status_;
};

}  // namespace cove::api
