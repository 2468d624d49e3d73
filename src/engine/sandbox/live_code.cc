#include "engine/sandbox/live_code.h"

#include "engine/sandbox/live_sandbox.h"

namespace cove::engine {

std::shared_ptr<LiveCode> LiveCode::create(const ExecTools& tools, LiveExec::Parts parts,
                                           std::shared_ptr<CodeControl> control) {
  std::shared_ptr<LiveCode> code(new LiveCode(std::move(control)));
  parts.host = code;
  code->exec_ = std::make_shared<LiveExec>(tools, std::move(parts));
  return code;
}

RecordedCode::~RecordedCode() {
  if (!code_->exec()->ended()) code_->exec()->end_unknown("whoever ran it gave it up");
  sandbox_->forget_exec(code_->exec()->info().id);
  sandbox_->touch();
}

}  // namespace cove::engine
