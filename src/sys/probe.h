#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Tests the features of this machine. Nothing is left behind; mounts are made in a child's own mount namespace. For
// single-threaded processes.
namespace cove::sys {

struct KernelVersion {
  int major = 0;
  int minor = 0;
  std::string release;  // "6.1.0-30-amd64"

  bool at_least(int wanted_major, int wanted_minor) const;
};
KernelVersion kernel_version();
KernelVersion parse_kernel_version(const std::string& release);

// A user namespace in which this user is root with capabilities.
Result<void> probe_user_namespaces();
// An overlay on a tmpfs: with this process's own privilege, or in a user namespace.
Result<void> probe_overlay();
Result<void> probe_overlay_in_user_namespace();
// A mount of `path` with shifted ids; needs root.
Result<void> probe_idmapped_mount(const std::string& path);

// Landlock's ABI version; 0 if it is not available.
int landlock_abi();
// The actions that seccomp filters support; empty if there are no filters.
std::vector<std::string> seccomp_actions();

// Whether the kernel has the file system now, without loading a module.
bool has_file_system(std::string_view name);
// Whether this process may read and write the device.
bool can_use_device(const std::string& path);

// The full path of a program in $PATH or in the system's folders; empty if there is none.
std::string find_program(const std::string& name);

}  // namespace cove::sys
