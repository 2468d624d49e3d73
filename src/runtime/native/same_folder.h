#pragma once

#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstdint>
#include <cstring>

namespace cove::native {

// Identifies the file system of a folder: by a number that survives a reboot if the kernel provides one, otherwise by
// its device number.
inline uint64_t file_system_of(int folder, const struct stat& info) {
  struct statfs system;
  uint64_t id = 0;
  if (::fstatfs(folder, &system) == 0) std::memcpy(&id, &system.f_fsid, sizeof id);
  return id != 0 ? id : info.st_dev;
}

// Whether this is the folder that was recorded before; true if none was recorded (0).
inline bool is_same_folder(int folder, uint64_t device, uint64_t inode) {
  struct stat info;
  return inode == 0 || (::fstat(folder, &info) == 0 && info.st_ino == inode && file_system_of(folder, info) == device);
}

}  // namespace cove::native
