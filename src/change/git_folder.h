#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "change/base_record.h"
#include "change/git_index.h"
#include "change/tree_scan.h"

namespace cove::change {

// Data from a repository's own files.
struct GitFolder {
  Repository repository;
  std::vector<IndexEntry> entries;
  int64_t index_modified_ns = 0;
  bool converts = false;  // clean files may differ from their blobs (line ends, filters)
  std::string exclude;    // the content of info/exclude
};

// The repository of `folder` (below `top`), whose .git is a folder, or a file that names another folder. Denied if that
// is outside `top`; otherwise like parse_git_index.
Result<GitFolder> open_git_folder(int top, const std::string& folder);

// Whether the file is unchanged according to the index, so that git would not read it again either.
bool is_clean(const Found& file, const IndexEntry& entry, int64_t index_modified_ns);

// Whether a file .gitattributes may ask for conversions.
bool asks_for_conversion(std::string_view attributes);

}  // namespace cove::change
