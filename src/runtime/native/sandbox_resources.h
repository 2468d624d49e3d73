#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "model/limits.h"
#include "runtime/runtime.h"
#include "sys/cgroup.h"

namespace cove::native {

// The control group of one exec: descriptors for process 1 to move the program into it, and a handle to read its usage.
struct ExecGroup {
  std::string name;
  std::unique_ptr<sys::Cgroup> group;
  std::vector<UniqueFd> join_fds;
};

// The resources of a sandbox that need privilege: its control groups, its writable layer, its builder. They are held by
// this process (LocalResources) or, for the server, by cove-spawn at the other end of a socket (RemoteResources).
class SandboxResources {
 public:
  virtual ~SandboxResources() = default;

  // Waits until the sandbox is built; an error if the build failed.
  virtual Result<void> ready() = 0;
  // Called after the channel to process 1 has closed: whether the build failed, or the memory limit was the reason.
  virtual SandboxEnded how_it_ended() = 0;

  virtual bool has_groups() const = 0;
  virtual Result<ExecGroup> take_exec_group() = 0;
  // Creates the next group in advance, after an exec has been sent.
  virtual void make_spare() = 0;
  // Finds the group of an exec that an earlier process started.
  virtual Result<std::unique_ptr<sys::Cgroup>> adopt_exec_group(const std::string& name) = 0;
  virtual Result<void> kill_exec_group(const std::string& name) = 0;
  // Called when the exec has ended. Processes it left behind keep running; the group is removed when it is empty.
  virtual void retire_exec_group(const std::string& name) = 0;

  virtual Result<void> freeze() = 0;
  virtual Result<void> thaw() = 0;
  virtual Result<void> set_limits(const Limits& limits) = 0;
  virtual Result<sys::CgroupUsage> usage() = 0;
  // Bytes in the writable layer; Unsupported if that is only known inside.
  virtual Result<uint64_t> layer_usage() = 0;
  // Makes reading usage faster, at the price of some open descriptors.
  virtual void keep_counters_open() {}

  // Sandbox::open_network.
  virtual Result<NetworkSockets> open_network() = 0;

  // Kills everything in the sandbox at once, without waiting.
  virtual void kill() = 0;
  // Ends everything; returns when no process, mount or control group is left and, with Files::Remove, no layer.
  virtual Result<void> destroy(Files files) = 0;
  // The same for a sandbox in which nothing runs: returns before everything is removed.
  virtual Result<void> let_go(Files files) { return destroy(files); }
};

}  // namespace cove::native
