#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstdint>
#include <cstring>

namespace cove::native {

// The file system that a folder lies in: by a number that is the same after a reboot, where the kernel has one, else by
// that of its device.
inline uint64_t file_system_of(int folder, const struct stat& info) {
  struct statfs system;
  uint64_t id = 0;
  if (::fstatfs(folder, &system) == 0) std::memcpy(&id, &system.f_fsid, sizeof id);
  return id != 0 ? id : info.st_dev;
}

// Whether this is the folder that was seen before; any is, where none was (0).
inline bool is_same_folder(int folder, uint64_t device, uint64_t inode) {
  struct stat info;
  return inode == 0 || (::fstat(folder, &info) == 0 && info.st_ino == inode && file_system_of(folder, info) == device);
}

}  // namespace cove::native
