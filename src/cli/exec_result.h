#pragma once

#include "cli/session.h"

namespace cove::cli {

// The exit code of `cove exec` and `cove run` for an ExecResult from the server: the program's own, 128 + N after
// signal N, 124 after a timeout.
int exit_code_of(const Json& result);

// Notes on standard error if the code ran with another version of its language than the default.
void tell_note(const Json& result);

// Reports on standard error that a limit was hit or that the program could not be started: an exit code alone does not
// tell.
void explain(const Json& result);

}  // namespace cove::cli
