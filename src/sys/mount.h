#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// The new mount API: file systems are created detached, by descriptor, and then attached.
namespace cove::sys {

enum class Subtree { One, Recursive };

// A detached copy of the mount at `path` (relative to `folder`; "" is the folder itself). Mounts on the one do not
// propagate to the other.
Result<UniqueFd> open_tree_clone(int folder, const std::string& path, Subtree subtree);

// Sets MOUNT_ATTR_* flags on a mount; `id_map` is a user namespace for MOUNT_ATTR_IDMAP, or -1.
Result<void> mount_setattr(int mount, uint64_t attributes, Subtree subtree, int id_map = -1);

// A new, detached file system of a type, with options ("" as a value makes it a flag).
using MountOptions = std::vector<std::pair<std::string, std::string>>;
Result<UniqueFd> make_mount(const std::string& type, const MountOptions& options, uint64_t attributes);

// Whether the kernel supports the type of file system and this process may mount it; loads its module if necessary.
bool can_make_mounts_of(const std::string& type);

// Attaches a detached mount at `path` relative to `folder`; a link there is not followed.
Result<void> attach_mount(int mount, int folder, const std::string& path);

Result<void> make_mounts_private();
// Makes `new_root` the root of this mount namespace and detaches the old one.
Result<void> pivot_root(int new_root);

}  // namespace cove::sys
