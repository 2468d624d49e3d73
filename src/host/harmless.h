#pragma once

#include <string>
#include <vector>

#include "model/sandbox.h"

// Decides which commands may run on the host in mode `selective`: those that plainly only read, and only in the
// workspace.
//
// Unknown programs, options and forms of words are refused. A refused command is not forbidden: it runs in the sandbox.
// So the answer is no if a case is hard to judge. The judgement is not the protection: cove-host (host/host_run.h)
// restricts the command, which also works if a file is replaced after the judgement.
namespace cove {

struct HostCommand {
  std::vector<std::string> argv;  // either a command
  std::string shell;              // or text for a shell
  std::string language;           // of code; code is never harmless
  std::string cwd;                // absolute, on the host or in the sandbox; empty: the workspace
  std::string workspace;          // the folder on the host, absolute; empty: none
  int folder = -1;                // its descriptor; -1: opened by its path
  std::string seen_at;            // the path of the workspace in the sandbox; empty: the same path
  Environment env;                // from the request
  bool has_stdin = false;         // there is or may be input
  bool pty = false;
};

struct HarmlessVerdict {
  bool harmless = false;
  std::string why;                // one sentence, in both cases
  std::vector<std::string> argv;  // if harmless: the program's absolute path and its arguments
  std::string program;            // the name it was called by; empty if there is none
  std::string folder;             // if harmless: the working folder below the workspace ("." for the workspace itself)
  bool names = false;             // if harmless: it looks up names of users
};

// Examines files (that the program belongs to the system, that each path is in the workspace); runs nothing and changes
// nothing. Needs the caller's rights over the workspace. Any thread.
HarmlessVerdict judge(const HostCommand& command);

}  // namespace cove
