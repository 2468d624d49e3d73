#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "change/digest.h"

// Git's index file, versions 2 to 4: the tracked files, their blobs and their stat data.
namespace cove::change {

struct IndexEntry {
  std::string path;
  uint32_t mode = 0;  // 0100644, 0100755, 0120000 (link), 0160000 (submodule)
  std::string id;     // hex
  // From stat(2), each truncated to 32 bits.
  uint32_t changed_seconds = 0, changed_nanoseconds = 0;
  uint32_t modified_seconds = 0, modified_nanoseconds = 0;
  uint32_t inode = 0, size = 0;
  bool has_blob = true;  // false in a conflict or after git add -N
};

// Invalid if it is damaged, Unsupported if it refers to another file (a split index) or has another version.
Result<std::vector<IndexEntry>> parse_git_index(std::string_view data, HashKind hash);

}  // namespace cove::change
