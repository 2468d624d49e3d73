#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

// Calls an OCI runtime's program.
namespace cove::oci {

using Words = std::vector<std::string>;

// Beside the staged root, in memory; also contains the runtime's state.
inline constexpr const char* kBundle = "/tmp/bundle";

// Creates the folder of the bundle, in this mount namespace, with its config.json.
Result<void> write_bundle(const std::string& config);

struct Invocation {
  std::string runtime;             // for messages
  Words words;                     // the program's path first
  std::vector<int> passed = {};    // descriptors that it gets, starting at 3
  int input = -1;                  // its standard input; -1: this process's
  std::vector<int> join_fds = {};  // control groups that it joins
  std::function<void()> prepare;   // called in its process, in its own mount namespace
};

// Waits for its end; Unavailable with its error message if it failed.
Result<void> invoke(const Invocation& call);

}  // namespace cove::oci
