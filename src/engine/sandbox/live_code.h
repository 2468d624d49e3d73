#pragma once

#include <memory>

#include "engine/exec/live_exec.h"

namespace cove::engine {

// Code in a context, as an exec: its log, its record and its followers are those of any other, and what is done to it
// is done to the interpreter.
class LiveCode : public ExecHost {
 public:
  static std::shared_ptr<LiveCode> create(const ExecTools& tools, LiveExec::Parts parts,
                                          std::shared_ptr<CodeControl> control);

  const std::shared_ptr<LiveExec>& exec() const { return exec_; }

  // Code that never came to its turn has no control: there is nothing to stop.
  Result<void> signal_exec(const std::string&, int number, SignalReach) override {
    return control_ ? control_->signal(number) : Result<void>();
  }
  Result<void> resize_exec(const std::string&, WindowSize) override { return {}; }
  Result<void> kill_exec(const std::string&) override { return control_ ? control_->kill() : Result<void>(); }
  Result<void> close_exec_input(const std::string&) override { return {}; }
  void let_exec_go(const std::string&) override {}

 private:
  explicit LiveCode(std::shared_ptr<CodeControl> control) : control_(std::move(control)) {}

  std::shared_ptr<CodeControl> control_;
  std::shared_ptr<LiveExec> exec_;
};

class LiveSandbox;

// The record that whoever runs the code writes.
class RecordedCode : public CodeRecord {
 public:
  RecordedCode(std::shared_ptr<LiveSandbox> sandbox, std::shared_ptr<LiveCode> code)
      : sandbox_(std::move(sandbox)), code_(std::move(code)) {}
  ~RecordedCode() override;

  std::string write(Stream stream, std::string_view data) override { return code_->exec()->write(stream, data); }
  std::string rest(Stream stream) override { return code_->exec()->rest(stream); }
  void end(ExecResult result) override { code_->exec()->end(std::move(result)); }

 private:
  std::shared_ptr<LiveSandbox> sandbox_;
  std::shared_ptr<LiveCode> code_;
};

}  // namespace cove::engine
