#pragma once

#include <string>
#include <vector>

#include "base/error.h"

// The fence around commands that run on the host: they read in the workspace, and do nothing else.
namespace cove {

struct HostOrder {
  int workspace = -1;             // its descriptor
  std::string folder = ".";       // the working folder, below it
  std::vector<std::string> argv;  // a program of /usr/bin or /bin by its full path, and its arguments
  bool names = false;             // it may read the names of users; only for programs that print no file's content
};

// This process becomes the program; returns only where it could not, and then must end: half of the fence stands.
//
// For a process of one thread that was started for this alone, and has the identity that the program shall have. Its
// input is empty, its output goes to descriptors 1 and 2, all other descriptors are closed. It has
//   - an environment of Cove's making, nothing of the caller's;
//   - no capabilities and no way to get any, whatever its identity;
//   - by Landlock: the workspace and /usr to read, itself and the system's libraries to execute, nothing to write;
//   - by seccomp: no sockets, no processes, no signals to others, no changes to any file's name, mode, owner or times;
//   - limits: 10 s of CPU, 30 s of time, 1 GiB of memory, nothing written to files (outputs must be pipes).
// What is not covered is metadata: stat and readlink work everywhere. The judgement (host/harmless.h) keeps commands
// away from paths that lead out.
//
// Unsupported where the kernel has no Landlock: never without it.
Error run_on_host(const HostOrder& order);

}  // namespace cove
