#include "model/limits.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/text.h"
#include "model/limit_fields.h"

namespace cove {

Limits no_limits() {
  Limits limits;
  visit_limits([](const LimitField&, auto& limit) { limit.value = {}; }, limits);
  return limits;
}

void take_defaults(Limits& limits, const Limits& defaults) {
  visit_limits(
      [](const LimitField&, auto& limit, const auto& standard) {
        if (!limit.named) limit.value = standard.value;
      },
      limits, defaults);
}

void take_named(Limits& limits, const Limits& changed) {
  visit_limits(
      [](const LimitField&, auto& limit, const auto& wanted) {
        if (wanted.named) limit = wanted;
      },
      limits, changed);
}

const LimitField* find_limit_field(std::string_view name) {
  auto found = std::ranges::find(kLimitFields, name, &LimitField::name);
  return found == std::end(kLimitFields) ? nullptr : found;
}

std::string api_name(const LimitField& field) { return std::string(field.name); }

std::string record_name(const LimitField& field) {
  return concat(field.name, field.kind == LimitKind::Duration ? "_ms" : "");
}

double to_number(double value) { return value; }
double to_number(uint64_t value) { return static_cast<double>(value); }
double to_number(std::chrono::milliseconds value) { return static_cast<double>(value.count()); }

std::string limit_text(const LimitField&, double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

std::string limit_text(const LimitField& field, uint64_t value) {
  switch (field.kind) {
    case LimitKind::Bytes:
      return format_bytes(value);
    case LimitKind::BytesPerSecond:
      return concat(format_bytes(value), "/s");
    default:
      return std::to_string(value);
  }
}

std::string limit_text(const LimitField&, std::chrono::milliseconds value) { return concat(value.count(), " ms"); }

}  // namespace cove
