#pragma once

#include "init/protocol.h"
#include "runtime/runtime.h"

namespace cove::native {

// Explains to the user why a program could not be started.
ExecFailed explain_failure(const wire::ExecRequest& request, wire::Stage stage, int errnum);

}  // namespace cove::native
