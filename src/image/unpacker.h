#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sys/ids.h"
#include "unpack/protocol.h"

namespace cove {

// The work of one cove-unpack.
struct UnpackOrder {
  std::string program;               // path of cove-unpack
  std::string folder;                // the layer's
  std::vector<std::string> parents;  // the folders of the layers below it, the topmost first; or none
  int archive = -1;                  // -1: only a digest of what lies in the folder
  bool lowest = false;               // there are no layers below it
  uint64_t max_bytes = 0;
  uint64_t max_entries = 0;
};

// Starts cove-unpack in user, mount, process, network, ipc, uts and cgroup namespaces of its own, with ids that nothing
// outside belongs to; its root holds the layer's folder, and the parents to read. Waits for its end. What it reports
// was made of a stranger's archive.
Result<unpack::Report> run_unpacker(const UnpackOrder& order, const sys::IdPlan& ids);

// Mounts layers, the topmost first, as one tree to read, and does `work` on it: in a child with a mount namespace of
// its own, and with power over the files of all these ids.
Result<void> with_layers_mounted(const std::vector<std::string>& layers, const sys::IdPlan& ids,
                                 const std::function<Result<void>(int root)>& work);

}  // namespace cove
