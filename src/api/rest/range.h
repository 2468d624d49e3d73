#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cove::api {

// A part of a file.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t count = 0;
  bool operator==(const ByteRange&) const = default;
};

enum class RangeKind {
  Whole,        // there is no range, or one that is to be ignored (RFC 9110: other units, several ranges, nonsense)
  Part,         // `range` is within the file
  Unsatisfied,  // nothing of the file is in it
};
struct RangeChoice {
  RangeKind kind = RangeKind::Whole;
  ByteRange range;
};

// What a Range header means for a file of that size: "bytes=0-99", "bytes=100-", "bytes=-100".
RangeChoice choose_range(std::string_view header, uint64_t size);

}  // namespace cove::api
