#pragma once

#include <string>
#include <vector>

#include "base/result.h"

// How an OCI runtime's program is called.
namespace cove::oci {

using Words = std::vector<std::string>;

// Beside the staged root, in memory; the runtime keeps its own records there, too.
inline constexpr const char* kBundle = "/tmp/bundle";

// The folder of the bundle, in this mount namespace, with its config.json.
Result<void> write_bundle(const std::string& config);

struct Invocation {
  std::string runtime;             // for messages
  Words words;                     // the program's path first
  std::vector<int> passed = {};    // descriptors that it finds from 3 on
  int input = -1;                  // its standard input; -1: this process's
  std::vector<int> join_fds = {};  // control groups that it is to be in
  void (*prepare)() = nullptr;     // done in its process, in a mount namespace of its own
};

// Waits for its end; Unavailable, with its own words, where it failed.
Result<void> invoke(const Invocation& call);

}  // namespace cove::oci
