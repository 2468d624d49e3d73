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

// All below the folder, but for what is named .git. What vanishes meanwhile is left out.
Result<Tree> scan_tree(int folder, size_t most_entries);

// A path below the folder that leads through no link and into no other mount.
Result<UniqueFd> open_below(int folder, const std::string& path, int flags);

struct EntryStat {
  Kind kind = Kind::Other;
  uint32_t mode = 0;
  Stamp stamp;
  uint64_t device = 0;
  uint64_t mount = 0;
};
// Of the file itself where `name` is empty.
Result<EntryStat> stat_entry(int folder, const std::string& name);

std::string join_path(const std::string& folder, const std::string& name);

}  // namespace cove::change
