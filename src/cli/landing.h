#pragma once

#include <string>

#include "base/result.h"

namespace cove::cli {

// What stands at a path.
enum class Kind { Nothing, File, Folder };

// Where a copy goes: into `folder`, under `name`; without a name, a folder's content goes straight into it.
struct Landing {
  std::string folder;
  std::string name;
  std::string path() const;
};

// The rules of docker cp: what is copied to a folder that exists goes into it, under its own name, unless it ends with
// "/."; a folder that is copied to where nothing is becomes that. Invalid where it cannot be.
Result<Landing> find_landing(Kind source_kind, const std::string& source, Kind target_kind, const std::string& target);

}  // namespace cove::cli
