#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "image/host_image.h"
#include "layer/layer.h"
#include "model/sandbox.h"
#include "runtime/native/ids.h"

namespace cove::native {

// What a sandbox without a name of its own is called inside; the image's /etc/hosts knows it.
inline constexpr const char* kDefaultHostname = "sandbox";

// All that the builder of a sandbox's walls needs to know; plain values, decided before anything is made.
struct SpawnPlan {
  std::string id;
  std::string hostname;
  std::string init_program;  // path of cove-init
  ImageRoot image;
  UniqueFd image_hold;  // for as long as it is open, the image is not removed
  LayerMount layer;
  IdPlan ids;
  Workspace workspace;
  uint32_t workspace_owner = kUserId;  // the id inside that owns the workspace's files
  uint64_t shm_bytes = 0;
  uint64_t process_rlimit = 0;  // where no control group counts processes: RLIMIT_NPROC of the sandbox, 0 for none
  uint64_t watched_memory = 0;  // where no control group holds memory: bytes at which the builder ends the sandbox
  unsigned pinned_cpus = 0;     // where no control group holds CPU: how many CPUs the sandbox may run on, 0 for all
  bool nesting = false;
  bool ends_with_exec = false;
  Lifetime lifetime = Lifetime::OneRun;
  int listener = -1;  // Lifetime::Long: the socket at which process 1 takes later servers
};

}  // namespace cove::native
