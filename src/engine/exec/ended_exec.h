#pragma once

#include <memory>

#include "engine/exec/exec.h"

namespace cove::engine {

// An exec that ended some time ago: what is on record, and its log.
std::shared_ptr<Exec> make_ended_exec(ExecInfo info, const std::string& log_path);

}  // namespace cove::engine
