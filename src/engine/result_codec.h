#pragma once

#include <string>

#include "model/exec.h"
#include "store/records.h"

// How an exec ended, as its record keeps it: JSON whose names never change, whatever a face calls them. What the record
// has beside it (the ids, the time) is not in it.
namespace cove::engine {

std::string result_text(const ExecResult& result);
// Throws Json::exception where it is damaged.
ExecResult result_of(const ExecRecord& record);

}  // namespace cove::engine
