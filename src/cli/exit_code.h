#pragma once

#include "model/exec.h"

namespace cove::cli {

// What `cove run` exits with: as the program did, 128 + N after signal N, 124 after a time-out.
int exit_code_of(const ExecResult& result);

}  // namespace cove::cli
