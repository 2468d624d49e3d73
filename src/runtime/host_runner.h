#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/exec.h"
#include "model/sandbox.h"

namespace cove {

// The restrictions on a command that runs on the host.
enum class HostFence {
  Reading,  // it runs only if it is judged harmless, with restricted access (host/harmless.h, host_run.h)
  None,
};

// A command that a local caller wants to run on the host itself, with the caller's own rights.
struct HostRunOrder {
  HostFence fence = HostFence::Reading;
  std::vector<std::string> argv;  // or
  std::string shell;
  std::string cwd;        // absolute; empty: the workspace, or the caller's home
  std::string workspace;  // absolute, on the host; or empty
  // The folder that the workspace must be, if it was recorded before (see Workspace).
  uint64_t device = 0;
  uint64_t inode = 0;
  Environment env;  // without a fence: in addition to a few of the caller's own
};

struct HostRunEnd {
  int wait_status = 0;
  Usage usage;  // CPU and memory
};

// One such command, or another program of Cove that runs with a caller's rights. Destroying this ends the command.
class HostProcess {
 public:
  virtual ~HostProcess() = default;
  // Our ends of its streams.
  UniqueFd out;
  UniqueFd err;
  UniqueFd in;       // without a fence; the caller closes it if there is no input
  UniqueFd verdict;  // with a fence: "yes WHY" or "no WHY" and end of file, before the command starts

  virtual int end_fd() const = 0;  // readable when it has ended or could not be started
  virtual Result<HostRunEnd> end() = 0;
  // Kills it and what it started in its session.
  virtual void kill() = 0;
};

// Thread-safe.
class HostRunner {
 public:
  virtual ~HostRunner() = default;
  // `connection` is the caller's own connection, by which the kernel identifies the caller.
  virtual Result<std::unique_ptr<HostProcess>> start(const HostRunOrder& order, int connection) = 0;
};

}  // namespace cove
