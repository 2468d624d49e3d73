#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/harmless_table.h"

namespace cove::harmless {

// What a path of a command must be.
enum class PathKind { File, Tree, Entry };

struct PathOperand {
  std::string path;
  PathKind kind;
};

// The paths that the arguments name, where the rule knows every option and every word; else why not.
Result<std::vector<PathOperand>> read_arguments(const Rule& rule, const std::vector<std::string>& arguments);

}  // namespace cove::harmless
