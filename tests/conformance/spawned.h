#pragma once

#include <memory>

#include "runtime/runtime.h"

namespace cove::test {

// A runtime whose sandboxes are made by another process, as the server has it.
Result<std::unique_ptr<Runtime>> make_spawned();

}  // namespace cove::test
