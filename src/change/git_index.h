#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "change/digest.h"

// The index file of git, versions 2 to 4: which files are tracked, as which blobs, and what they found like then.
namespace cove::change {

struct IndexEntry {
  std::string path;
  uint32_t mode = 0;  // 0100644, 0100755, 0120000 (link), 0160000 (submodule)
  std::string id;     // hex
  // As stat(2) gave it, each cut to 32 bits.
  uint32_t changed_seconds = 0, changed_nanoseconds = 0;
  uint32_t modified_seconds = 0, modified_nanoseconds = 0;
  uint32_t inode = 0, size = 0;
  bool has_blob = true;  // not where it is in conflict, or only announced (git add -N)
};

// Invalid where it is damaged, Unsupported where it refers to another file (a split index) or is of another version.
Result<std::vector<IndexEntry>> parse_git_index(std::string_view data, HashKind hash);

}  // namespace cove::change
