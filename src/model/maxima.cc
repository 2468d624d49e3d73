#include "model/maxima.h"

#include "base/text.h"
#include "model/limit_fields.h"

namespace cove {
namespace {

// The least is a whole number of bytes where it is one of bytes.
std::string least_text(const LimitField& field) {
  return field.number ? limit_text(field, field.least) : limit_text(field, static_cast<uint64_t>(field.least));
}

}  // namespace

std::optional<ImpossibleLimit> find_impossible(const Limits& limits, const Maxima& maxima) {
  std::optional<ImpossibleLimit> found;
  auto check = [&](const LimitField& field, const auto& limit, const auto& most) {
    if (found || !limit.named) return;
    std::string bound;
    if (to_number(most.value) != 0 && limit.value > most.value)
      bound = concat("more than this machine has (", limit_text(field, most.value), ")");
    else if (to_number(limit.value) < field.least)
      bound = concat("less than the least (", least_text(field), ")");
    if (!bound.empty()) found = {std::string(field.name), limit_text(field, limit.value), bound};
  };
  visit_limits(check, limits, maxima.most);
  return found;
}

bool names_capped_limit(const Limits& limits) {
  bool names = false;
  visit_limits([&](const LimitField& field, const auto& limit) { names = names || (limit.named && field.least > 0); },
               limits);
  return names;
}

}  // namespace cove
