#pragma once

#include "model/exec.h"

namespace cove::cli {

// The exit code of `cove run`: the program's own, 128 + N after signal N, 124 after a timeout.
int exit_code_of(const ExecResult& result);

}  // namespace cove::cli
