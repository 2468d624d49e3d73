#pragma once

#include <string>

#include "base/result.h"

namespace cove::cli {

// What exists at a path.
enum class Kind { Nothing, File, Folder };

// The destination of a copy: `name` in `folder`; without a name, a folder's contents are copied directly into `folder`.
struct CopyTarget {
  std::string folder;
  std::string name;
  std::string path() const;
};

// Follows the rules of docker cp: if the target is an existing folder, the copy is placed in it under its own name,
// unless the source ends with "/."; a folder copied to a path that does not exist is created there. Invalid if the copy
// is impossible.
Result<CopyTarget> find_copy_target(Kind source_kind, const std::string& source, Kind target_kind,
                                    const std::string& target);

}  // namespace cove::cli
