#pragma once

#include <string>
#include <vector>

#include "base/error.h"

// Restricts commands that run on the host: they can only read in the workspace.
namespace cove {

struct HostOrder {
  int workspace = -1;             // its descriptor
  std::string folder = ".";       // the working folder below it
  std::vector<std::string> argv;  // a program of /usr/bin or /bin by its full path, and its arguments
  bool names = false;             // it may read the names of users; only for programs that print no file contents
};

// Executes the program in this process. Returns only on failure; then the process must exit, because part of the
// restrictions is in effect.
//
// For a single-threaded process that was started for this purpose and has the identity for the program. The program's
// input is empty, its output goes to descriptors 1 and 2, all other descriptors are closed. It has
//   - an environment set by Cove, nothing of the caller's;
//   - no capabilities and no way to get any, with any identity;
//   - by Landlock: the workspace and /usr to read, itself and the system's libraries to execute, nothing to write;
//   - by seccomp: no sockets, no processes, no signals to others, no changes to any file's name, mode, owner or times;
//   - limits: 10 s of CPU, 30 s of time, 1 GiB of memory, nothing written to files (outputs must be pipes).
// Metadata is not protected: stat and readlink work everywhere. The judgement (host/harmless.h) rejects commands with
// paths that lead out.
//
// Unsupported if the kernel has no Landlock: nothing runs without it.
Error run_on_host(const HostOrder& order);

}  // namespace cove
