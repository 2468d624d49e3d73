#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove {

enum class RuntimeFamily {
  Native,  // Cove itself makes the walls
  Oci,     // a program that takes an OCI bundle does
  Engine,  // a container engine does, from images of its own
};

// One row of the table of runtimes: what `--runtime` takes.
struct RuntimeKind {
  const char* name;
  RuntimeFamily family;
  const char* program;  // that is looked for; none: nothing has to be installed
  const char* title;    // for people
};

// All there are, the one that `oci` prefers first in its family.
std::span<const RuntimeKind> runtime_kinds();
const RuntimeKind* find_runtime_kind(std::string_view name);

bool is_engine_runtime(std::string_view name);

// gVisor: programs run in a kernel that the runtime brings along.
bool has_own_kernel(std::string_view name);

inline constexpr const char* kNativeRuntime = "native";
// Stands for the first OCI runtime that is found; no sandbox has it.
inline constexpr const char* kAnyOciRuntime = "oci";

// What `--runtime` takes, `oci` included.
std::vector<std::string> runtime_names();
// Invalid, with the closest one as a hint, where there is no such runtime.
Result<std::string> check_runtime(const std::string& name);

// What was found out about a runtime on this machine.
struct RuntimeFact {
  std::string name;
  std::string title;
  bool available = false;
  std::string version;
  std::string program;  // its path, or the socket of an engine; empty: none, or not found
  std::string problem;  // why it cannot be used
  std::string remedy;   // what to do about that
};

}  // namespace cove
