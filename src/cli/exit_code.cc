#include "cli/exit_code.h"

#include "cli/terminal.h"

namespace cove::cli {
namespace {

constexpr int kTimedOut = 124;
constexpr int kSignalled = 128;

}  // namespace

int exit_code_of(const ExecResult& result) {
  if (result.status == ExecStatus::Timeout) return kTimedOut;
  if (result.signal) return kSignalled + *result.signal;
  return result.exit_code.value_or(kOwnFailure);
}

}  // namespace cove::cli
