#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "host/harmless_table.h"

namespace cove::harmless {

// The required type of a path of a command.
enum class PathKind { File, Tree, Entry };

struct PathOperand {
  std::string path;
  PathKind kind;
};

// The paths in the arguments, if the rule accepts every option and word; otherwise why not.
Result<std::vector<PathOperand>> read_arguments(const Rule& rule, const std::vector<std::string>& arguments);

}  // namespace cove::harmless
