#pragma once

#include "cli/session.h"

namespace cove::cli {

// What `cove exec` and `cove run` exit with, of an ExecResult as the server gives it: as the program did, 128 + N after
// signal N, 124 after a time-out.
int exit_code_of(const Json& result);

// On standard error: that code ran with another version of its language than is usual.
void tell_note(const Json& result);

// On standard error: that a limit was hit, or that the program could not be started. An exit code alone does not tell.
void explain(const Json& result);

}  // namespace cove::cli
