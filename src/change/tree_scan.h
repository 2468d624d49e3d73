#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "change/base_record.h"

namespace cove::change {

struct Found {
  std::string path;
  Kind kind = Kind::File;
  uint32_t mode = 0;
  Stamp stamp;
  std::string target;  // of links
};

struct Tree {
  std::vector<Found> entries;  // by path
  std::vector<Uncovered> uncovered;
  std::vector<std::string> repositories;  // folders that have something named .git, by path
};

// Lists everything below the folder except entries named .git. Entries that vanish meanwhile are skipped.
Result<Tree> scan_tree(int folder, size_t most_entries);

// Opens a path below the folder without following links or entering other mounts.
Result<UniqueFd> open_below(int folder, const std::string& path, int flags);

struct EntryStat {
  Kind kind = Kind::Other;
  uint32_t mode = 0;
  Stamp stamp;
  uint64_t device = 0;
  uint64_t mount = 0;
};
// Of the file itself if `name` is empty.
Result<EntryStat> stat_entry(int folder, const std::string& name);

std::string join_path(const std::string& folder, const std::string& name);

}  // namespace cove::change
