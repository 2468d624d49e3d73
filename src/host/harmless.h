#pragma once

#include <string>
#include <vector>

#include "model/sandbox.h"

// Which commands may run on the host in mode `selective`: those that plainly only read, and only in the workspace.
//
// Everything is refused that is not known: programs, options, shapes of words. What is refused is not forbidden, it
// runs in the sandbox; so where a case is hard to judge, the answer is no. The judgement is not the fence: cove-host
// (host/host_run.h) is, and it holds when a file is swapped after the judgement.
namespace cove {

struct HostCommand {
  std::vector<std::string> argv;  // either a command
  std::string shell;              // or text for a shell
  std::string language;           // of code; no code is harmless
  std::string cwd;                // absolute, as the host or as the sandbox sees it; empty: the workspace
  std::string workspace;          // the folder on the host, absolute; empty: there is none
  int folder = -1;                // its descriptor; -1: it is opened by its path
  std::string seen_at;            // where the sandbox has the workspace; empty: at the same path
  Environment env;                // given with the call
  bool has_stdin = false;         // there is input, or there may be
  bool pty = false;
};

struct HarmlessVerdict {
  bool harmless = false;
  std::string why;                // one sentence, in both cases
  std::vector<std::string> argv;  // where harmless: the program's absolute path and its arguments
  std::string program;            // the name it was called by; empty where there is none
  std::string folder;             // where harmless: the working folder, below the workspace ("." for itself)
  bool names = false;             // where harmless: it looks up names of users
};

// Looks at files (that the program is the system's own, that each path lies in the workspace), runs nothing and changes
// nothing. Must have the caller's rights over the workspace. Any thread.
HarmlessVerdict judge(const HostCommand& command);

}  // namespace cove
