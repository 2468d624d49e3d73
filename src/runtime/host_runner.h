#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/exec.h"
#include "model/sandbox.h"

namespace cove {

// What keeps a command on the host from doing harm.
enum class HostFence {
  Reading,  // it runs only where it is judged to be harmless, and then behind a fence (host/harmless.h, host_run.h)
  None,
};

// A command that a caller of this machine wants to have run on the host itself, with his own rights.
struct HostRunOrder {
  HostFence fence = HostFence::Reading;
  std::vector<std::string> argv;  // or
  std::string shell;
  std::string cwd;        // absolute; empty: the workspace, or the caller's home
  std::string workspace;  // absolute, on the host; or empty
  // The folder that must be there, where it was seen before (see Workspace).
  uint64_t device = 0;
  uint64_t inode = 0;
  Environment env;  // without a fence: beside a few of the caller's own
};

struct HostRunEnd {
  int wait_status = 0;
  Usage usage;  // CPU and memory
};

// One such command, or another program of Cove's that has a caller's rights. Its end is the command's.
class HostProcess {
 public:
  virtual ~HostProcess() = default;
  // Our ends of its streams.
  UniqueFd out;
  UniqueFd err;
  UniqueFd in;       // without a fence; closed by whoever has nothing to say
  UniqueFd verdict;  // with a fence: "yes WHY" or "no WHY", and its end, before the command starts

  virtual int end_fd() const = 0;  // readable when it has ended, or could not be started
  virtual Result<HostRunEnd> end() = 0;
  // It, and what it started in its session.
  virtual void kill() = 0;
};

// Thread-safe.
class HostRunner {
 public:
  virtual ~HostRunner() = default;
  // `connection` is the caller's own: who he is, the kernel says.
  virtual Result<std::unique_ptr<HostProcess>> start(const HostRunOrder& order, int connection) = 0;
};

}  // namespace cove
