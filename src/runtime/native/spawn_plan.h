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

// What a sandbox without a name of its own is called inside; the image's /etc/hosts knows it.
inline constexpr const char* kDefaultHostname = "sandbox";

// The OCI runtime that is to make the walls.
struct OciPlan {
  std::string runtime;  // its name in runtime_kind.h
  std::string program;  // absolute
  std::string group;    // of process 1, made by the runtime; empty: where this process is
  // It brings a kernel of its own (gVisor): process 1 is made as ever and stays on the host's kernel; the runtime
  // starts another one in its own, which starts the programs.
  bool own_kernel = false;
  std::vector<UniqueFd> join_fds;  // there: of the group that the runtime is to be in
  uint64_t processes = 0;          // there: limits that the process 1 in it holds; 0: none
  uint64_t memory = 0;
};

// All that the builder of a sandbox's walls needs to know; plain values, decided before anything is made.
struct SpawnPlan {
  std::string id;
  std::string hostname;
  std::string init_program;  // path of cove-init
  ImageRoot image;
  UniqueFd image_hold;  // for as long as it is open, the image is not removed
  LayerMount layer;
  sys::IdPlan ids;
  Workspace workspace;
  std::vector<std::string> own_folders;     // what a workspace must not show
  uint32_t workspace_owner = sys::kUserId;  // the id inside that owns the workspace's files
  uint64_t shm_bytes = 0;
  uint64_t memory = 0;          // the limit, for /proc/meminfo; 0: none
  uint64_t process_rlimit = 0;  // where no control group counts processes: RLIMIT_NPROC of the sandbox, 0 for none
  uint64_t watched_memory = 0;  // where no control group holds memory: bytes at which the builder ends the sandbox
  unsigned pinned_cpus = 0;     // where no control group holds CPU: how many CPUs the sandbox may run on, 0 for all
  bool nesting = false;
  bool ends_with_exec = false;
  Lifetime lifetime = Lifetime::OneRun;
  std::optional<OciPlan> oci;
  int listener = -1;  // Lifetime::Long: the socket at which process 1 takes later servers
};

}  // namespace cove::native
