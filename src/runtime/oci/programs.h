#pragma once

#include <string>

#include "base/result.h"
#include "model/runtime_kind.h"

// The OCI runtimes of this machine: which are installed and which can be used.
namespace cove::oci {

// The path of the runtime's program. Unavailable, with a hint, if it is not installed or cannot be used.
Result<std::string> find_program(const RuntimeKind& kind);

// Resolves the runtime of a sandbox: `oci` becomes the first usable one. Unavailable if the named one cannot be used.
// Starts no program.
Result<std::string> settle_runtime(const std::string& name);

// The means of the process that creates sandboxes, which some runtimes need.
struct Rights {
  bool root = false;
  bool limits = false;  // control groups that enforce CPU, memory and processes
  bool ids = false;     // more than one user id
};
// Unsupported, with a hint, if the runtime needs more than that.
Result<void> check_rights(const RuntimeKind& kind, const Rights& rights);

// Describes the runtime for people, with its version: starts the program and waits for it.
RuntimeFact examine(const RuntimeKind& kind, const Rights& rights);

}  // namespace cove::oci
