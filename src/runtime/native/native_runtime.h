#pragma once

#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace cove::native {

// Where the native runtime finds its parts and keeps its traces.
struct Places {
  std::string programs;     // the folder of cove-init and cove-sudo
  std::string cache;        // images
  std::string lock_folder;  // one for all of this user's Coves
  std::string run_folder;   // the sockets of long-lived sandboxes; gone after a reboot
};
// Beside this program; /run/cove as root, else $XDG_RUNTIME_DIR/cove; sockets beside the state where $COVE_STATE names
// another than the usual one. Denied where another user has made or can change a folder of these.
Result<Places> find_places();
// Makes the folders of locks and sockets where they are missing; Denied as above.
Result<void> make_run_folders(const Places& places);

// Sandboxes made of the kernel's namespaces, control groups, overlayfs, seccomp and Landlock. Made and used by one
// thread of a process that has no other threads, because it forks.
// Where the kernel cannot map the ids of layers, root's sandboxes share one range of host ids; they can be made to.
enum class IdRanges { AsTheKernelCan, Shared };
Result<std::unique_ptr<Runtime>> make_native_runtime(Places places, IdRanges ranges = IdRanges::AsTheKernelCan);
// The same with an OCI runtime (runtime_kind.h), which makes the walls of every sandbox that names no other.
Result<std::unique_ptr<Runtime>> make_oci_runtime(Places places, const std::string& name);

}  // namespace cove::native
