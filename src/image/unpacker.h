#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sys/ids.h"
#include "unpack/protocol.h"

namespace cove {

// The parameters of one cove-unpack.
struct UnpackOrder {
  std::string program;               // path of cove-unpack
  std::string folder;                // the layer's
  std::vector<std::string> parents;  // the folders of the layers below it, the topmost first; or none
  int archive = -1;                  // -1: only compute a digest of the folder
  bool lowest = false;               // there are no layers below it
  uint64_t max_bytes = 0;
  uint64_t max_entries = 0;
};

// Starts cove-unpack in its own user, mount, pid, network, ipc, uts and cgroup namespaces, with ids that own nothing
// outside; its root contains the layer's folder, and the parents, read-only. Waits for its end. Its report is
// untrusted, because it comes from an untrusted archive.
Result<unpack::Report> run_unpacker(const UnpackOrder& order, const sys::IdPlan& ids);

// Mounts layers, the topmost first, as one read-only tree, and calls `work` on it in a child with its own mount
// namespace and access to files of all these ids.
Result<void> with_layers_mounted(const std::vector<std::string>& layers, const sys::IdPlan& ids,
                                 const std::function<Result<void>(int root)>& work);

}  // namespace cove
