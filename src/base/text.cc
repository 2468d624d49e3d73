#include "base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

namespace cove {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// Splits "1.5g" into 1.5 and "g"; nothing where there is no plain non-negative number in front.
struct Quantity {
  double number;
  std::string unit;
};
Result<Quantity> parse_quantity(std::string_view text) {
  double number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (status != std::errc() || !std::isfinite(number))
    return fail(Code::Invalid, concat("'", text, "' is not a number"));
  return Quantity{number, lower(text.substr(static_cast<size_t>(end - text.data())))};
}

// How many characters must be inserted, removed, replaced or swapped with their neighbour.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(table[0].begin(), table[0].end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    table[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  while (true) {
    size_t end = text.find(separator, begin);
    pieces.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return pieces;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string join(const std::vector<std::string>& pieces, std::string_view separator) {
  std::string out;
  for (const std::string& piece : pieces) {
    if (!out.empty()) out += separator;
    out += piece;
  }
  return out;
}

Result<int64_t> parse_integer(std::string_view text, int64_t lowest, int64_t highest) {
  int64_t number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size())
    return fail(Code::Invalid, concat("'", text, "' is not a whole number"));
  if (number < lowest || number > highest)
    return fail(Code::Invalid, concat("'", text, "' is not between ", lowest, " and ", highest));
  return number;
}

Result<uint64_t> parse_bytes(std::string_view text) {
  Quantity quantity = COVE_TRY(parse_quantity(text));
  static constexpr std::string_view kUnits = "bkmgtp";
  std::string_view unit = quantity.unit;
  size_t power = 0;
  if (!unit.empty()) {
    power = kUnits.find(unit[0]);
    std::string_view rest = unit.substr(1);
    bool known = power != std::string_view::npos && (rest.empty() || (power > 0 && (rest == "b" || rest == "ib")));
    if (!known)
      return fail(Error(Code::Invalid, concat("'", text, "' is not a size")).hint("write it like 512m or 2g"));
  }
  double bytes = quantity.number * std::pow(1024.0, static_cast<double>(power));
  if (bytes < 1) return fail(Code::Invalid, concat("'", text, "' must be at least one byte"));
  if (bytes > 0x1p62) return fail(Code::Invalid, concat("'", text, "' is too large"));
  return static_cast<uint64_t>(bytes);
}

Result<double> parse_positive(std::string_view text) {
  Quantity quantity = COVE_TRY(parse_quantity(text));
  if (!quantity.unit.empty()) return fail(Code::Invalid, concat("'", text, "' is not a number"));
  if (quantity.number <= 0) return fail(Code::Invalid, concat("'", text, "' must be above zero"));
  return quantity.number;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  Quantity quantity = COVE_TRY(parse_quantity(text));
  struct Unit {
    std::string_view name;
    double milliseconds;
  };
  static constexpr Unit kUnits[] = {{"", 1e3}, {"ms", 1}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}};
  auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                           [&](const Unit& candidate) { return candidate.name == quantity.unit; });
  if (unit == std::end(kUnits))
    return fail(Error(Code::Invalid, concat("'", text, "' is not a duration")).hint("write it like 30s, 250ms or 5m"));
  double milliseconds = quantity.number * unit->milliseconds;
  if (milliseconds < 1) return fail(Code::Invalid, concat("'", text, "' must be at least one millisecond"));
  if (milliseconds > 366.0 * 86400e3) return fail(Code::Invalid, concat("'", text, "' is longer than a year"));
  return std::chrono::milliseconds(static_cast<int64_t>(milliseconds));
}

std::string format_bytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g %s", number, kUnits[unit]);
  return text;
}

std::string closest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    size_t distance = edit_distance(word, candidate);
    const bool alike = distance < std::max(word.size(), candidate.size());  // something of one is left in the other
    if (alike && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace cove
