#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "change/base_record.h"
#include "change/git_index.h"
#include "change/tree_scan.h"

namespace cove::change {

// What is needed of a repository's own files.
struct GitFolder {
  Repository repository;
  std::vector<IndexEntry> entries;
  int64_t index_modified_ns = 0;
  bool converts = false;  // files may differ from their blobs though git calls them clean (line ends, filters)
  std::string exclude;    // the content of info/exclude
};

// The repository of `folder` (below `top`), which has something named .git: a folder, or a file that names another
// place. Denied where that lies outside of `top`; else as parse_git_index.
Result<GitFolder> open_git_folder(int top, const std::string& folder);

// Whether the index vouches for the file as it is: git would not read it again either.
bool is_clean(const Found& file, const IndexEntry& entry, int64_t index_modified_ns);

// Whether a file .gitattributes may ask for conversions.
bool asks_for_conversion(std::string_view attributes);

}  // namespace cove::change
