#pragma once

#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace cove::native {

// The paths of the native runtime's programs and state.
struct Places {
  std::string programs;     // the folder of cove-init and cove-sudo
  std::string cache;        // images
  std::string lock_folder;  // shared by all Coves of this user
  std::string run_folder;   // the sockets of long-lived sandboxes; gone after a reboot
};
// Programs are beside this one; the rest is in /run/cove for root, otherwise $XDG_RUNTIME_DIR/cove; sockets are beside
// the state if $COVE_STATE names another than the usual one. Denied if another user created or can change one of these
// folders.
Result<Places> find_places();
// Creates the folders of locks and sockets if they are missing; Denied as above.
Result<void> make_run_folders(const Places& places);

// Sandboxes made of the kernel's namespaces, control groups, overlayfs, seccomp and Landlock. Made and used by one
// thread of a process that has no other threads, because it forks.
// If the kernel cannot map the ids of layers, root's sandboxes share one range of host ids; this can also be requested.
enum class IdRanges { AsTheKernelCan, Shared };
Result<std::unique_ptr<Runtime>> make_native_runtime(Places places, IdRanges ranges = IdRanges::AsTheKernelCan);
// The same with an OCI runtime (runtime_kind.h), which isolates every sandbox that does not name another runtime.
Result<std::unique_ptr<Runtime>> make_oci_runtime(Places places, const std::string& name);

}  // namespace cove::native
