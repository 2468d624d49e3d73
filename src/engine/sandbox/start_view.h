#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/view.h"

namespace cove::engine {

// Whether an interpreter may have looked at this path when it started: all but plain files of the user's own.
bool is_read_at_start(const std::string& path);

// The same view; `changed` is called before anything that an interpreter may have looked at is changed.
std::unique_ptr<View> watch_start(std::unique_ptr<View> view, std::function<void()> changed);

}  // namespace cove::engine
