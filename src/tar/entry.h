#pragma once

#include <cstdint>
#include <string>

namespace cove::tar {

enum class Kind { File, Folder, Symlink, HardLink, Other };

// What an archive says of one of its members. Names are bytes: nothing is converted.
struct Entry {
  std::string name;
  Kind kind = Kind::File;
  uint32_t mode = 0644;  // at most 07777
  uint64_t size = 0;     // of a file's data, which follows
  int64_t mtime = 0;     // seconds since 1970
  std::string link;      // of a symlink: its target; of a hard link: the name of the entry it is the same as
  uint64_t uid = 0;
  uint64_t gid = 0;
};

}  // namespace cove::tar
