#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace cove::native {

// Whether this is the folder that was seen before; any is, where none was (0).
inline bool is_same_folder(int folder, uint64_t device, uint64_t inode) {
  struct stat info;
  return inode == 0 || (::fstat(folder, &info) == 0 && info.st_ino == inode && info.st_dev == device);
}

}  // namespace cove::native
