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

// The control group of one exec: how process 1 puts the program into it, and a handle to read what it used.
struct ExecGroup {
  std::string name;
  std::unique_ptr<sys::Cgroup> group;
  std::vector<UniqueFd> join_fds;
};

// What holds the parts of a sandbox that need privilege: its control groups, its writable layer, its builder. In one
// process that is the process itself (LocalResources), in the server it is cove-spawn at the other end of a socket
// (RemoteResources).
class SandboxResources {
 public:
  virtual ~SandboxResources() = default;

  // Waits until the walls stand, or tells why they do not.
  virtual Result<void> ready() = 0;
  // The channel to process 1 has closed: whether the walls never stood, or its memory was the reason.
  virtual SandboxEnded how_it_ended() = 0;

  virtual bool has_groups() const = 0;
  virtual Result<ExecGroup> take_exec_group() = 0;
  // Makes the next one ahead, after an exec has been sent.
  virtual void make_spare() = 0;
  // The group of an exec that an earlier process started.
  virtual Result<std::unique_ptr<sys::Cgroup>> adopt_exec_group(const std::string& name) = 0;
  virtual Result<void> kill_exec_group(const std::string& name) = 0;
  // The exec has ended. What it left running goes on; when nothing is left, the group is removed.
  virtual void retire_exec_group(const std::string& name) = 0;

  virtual Result<void> freeze() = 0;
  virtual Result<void> thaw() = 0;
  virtual Result<void> set_limits(const Limits& limits) = 0;
  virtual Result<sys::CgroupUsage> usage() = 0;
  // Bytes in the writable layer; Unsupported where only inside can tell.
  virtual Result<uint64_t> layer_usage() = 0;
  // Makes that quicker, at the price of some descriptors.
  virtual void keep_counters_open() {}

  // Kills everything in the sandbox at once, without waiting.
  virtual void kill() = 0;
  // Ends everything; returns when no process, mount or control group is left, and with Files::Remove no layer.
  virtual Result<void> destroy(Files files) = 0;
  // The same for a sandbox in which nothing runs: nobody need wait until all of it is gone.
  virtual Result<void> let_go(Files files) { return destroy(files); }
};

}  // namespace cove::native
