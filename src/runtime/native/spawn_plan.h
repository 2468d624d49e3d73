#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "image/host_image.h"
#include "layer/layer.h"
#include "model/sandbox.h"
#include "sys/ids.h"

namespace cove::native {

// The hostname of a sandbox without a name; it is in the image's /etc/hosts.
inline constexpr const char* kDefaultHostname = "sandbox";

// The OCI runtime that isolates the sandbox.
struct OciPlan {
  std::string runtime;  // its name in runtime_kind.h
  std::string program;  // absolute
  std::string group;    // of process 1, created by the runtime; empty: the group of this process
  // The runtime has a kernel of its own (gVisor): process 1 is created as usual and stays on the host's kernel; the
  // runtime starts another one in its own kernel, which starts the programs.
  bool own_kernel = false;
  std::vector<UniqueFd> join_fds;  // with an own kernel: of the group for the runtime
  uint64_t processes = 0;          // with an own kernel: limits that its inner process 1 enforces; 0: none
  uint64_t memory = 0;
  bool network = false;  // with an own kernel: it gets an interface that leads to process 1's namespace
};

// Everything that the builder of a sandbox needs: plain values, decided before anything is created.
struct SpawnPlan {
  std::string id;
  std::string hostname;
  std::string init_program;  // path of cove-init
  ImageRoot image;
  UniqueFd image_hold;  // while it is open, the image is not removed
  LayerMount layer;
  sys::IdPlan ids;
  Workspace workspace;
  std::vector<std::string> own_folders;     // folders of Cove that a workspace must not contain
  uint32_t workspace_owner = sys::kUserId;  // the id inside that owns the workspace's files
  uint64_t shm_bytes = 0;
  uint64_t memory = 0;          // the limit, for /proc/meminfo; 0: none
  uint64_t process_rlimit = 0;  // without a control group for processes: RLIMIT_NPROC of the sandbox, 0 for none
  uint64_t watched_memory = 0;  // without a control group for memory: bytes at which the builder kills the sandbox
  unsigned pinned_cpus = 0;     // without a control group for CPU: how many CPUs the sandbox may run on, 0 for all
  bool nesting = false;
  bool ends_with_exec = false;
  Lifetime lifetime = Lifetime::OneRun;
  std::optional<OciPlan> oci;
  int listener = -1;  // Lifetime::Long: the socket at which process 1 accepts later servers
};

}  // namespace cove::native
