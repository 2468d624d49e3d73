#pragma once

#include <string>
#include <string_view>

#include "change/base_record.h"

// The parts of a record on disk, for other writers.
namespace cove::change {

inline constexpr const char* kUnfinished = "base.new";
inline constexpr const char* kCopies = "copies";

// The content of `base`.
std::string base_text(const BaseRecord& record);
// The id of a copy: a SHA-256 in hex.
bool is_copy_id(std::string_view id);
// Renames base.new to base.
Result<void> finish_base(int into);
Result<BaseHead> read_base_head(int from);

}  // namespace cove::change
