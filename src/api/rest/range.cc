#include "api/rest/range.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::api {
namespace {

// All digits; a number too large to be told from the largest is as good as that.
std::optional<uint64_t> parse_position(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  uint64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return UINT64_MAX;
  return number;
}

RangeChoice suffix(uint64_t count, uint64_t size) {
  if (count == 0 || size == 0) return {RangeKind::Unsatisfied, {}};
  count = std::min(count, size);
  return {RangeKind::Part, {size - count, count}};
}

}  // namespace

RangeChoice choose_range(std::string_view header, uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  header = trim(header);
  if (!same_word(header.substr(0, kUnit.size()), kUnit)) return {};
  std::string_view spec = trim(header.substr(kUnit.size()));
  size_t dash = spec.find('-');
  if (dash == std::string_view::npos) return {};
  std::string_view from = trim(spec.substr(0, dash));
  std::string_view to = trim(spec.substr(dash + 1));
  auto first = parse_position(from);
  auto last = parse_position(to);
  if (from.empty()) return last ? suffix(*last, size) : RangeChoice{};
  if (!first || (!last && !to.empty()) || (last && *last < *first)) return {};
  if (*first >= size) return {RangeKind::Unsatisfied, {}};
  uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return {RangeKind::Part, {*first, end - *first + 1}};
}

}  // namespace cove::api
