#pragma once

#include <string>

#include "base/result.h"
#include "model/runtime_kind.h"

// The OCI runtimes of this machine: which are installed, and which of them can be used.
namespace cove::oci {

// The path of the runtime's program. Unavailable, with what to do, where it is not installed or cannot be used here.
Result<std::string> find_program(const RuntimeKind& kind);

// The runtime that a sandbox is to have: `oci` becomes the first one that can be used. Unavailable where the one that
// is named cannot; starts no program.
Result<std::string> settle_runtime(const std::string& name);

// What whoever makes sandboxes has, and some runtimes need.
struct Rights {
  bool root = false;
  bool limits = false;  // control groups that hold CPU, memory and processes
  bool ids = false;     // more user ids than one
};
// Unsupported, with what to do, where the runtime needs more than that.
Result<void> check_rights(const RuntimeKind& kind, const Rights& rights);

// The same for people, with its version: starts the program, and waits for it.
RuntimeFact examine(const RuntimeKind& kind, const Rights& rights);

}  // namespace cove::oci
