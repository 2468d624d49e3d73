#include "runtime/native/holding_codec.h"

namespace cove::native {
namespace {

constexpr size_t kMaxListed = 256;

}  // namespace

void encode(wire::Writer& out, const Holding& holding) {
  out.number(holding.limits.size());
  for (const auto& [name, limit] : holding.limits) out.text(name).text(limit.value).text(limit.enforced_by);
  out.texts(holding.warnings);
  out.number(holding.rlimits.size());
  for (const wire::Rlimit& limit : holding.rlimits) out.number(limit.resource).number(limit.soft).number(limit.hard);
}

Holding decode_holding(wire::Reader& in) {
  Holding holding;
  uint64_t limits = in.number();
  for (uint64_t i = 0; i < limits && i < kMaxListed && in.ok(); ++i) {
    std::string name = in.text();
    holding.limits[name] = {in.text(), in.text()};
  }
  holding.warnings = in.texts();
  uint64_t rlimits = in.number();
  for (uint64_t i = 0; i < rlimits && i < kMaxListed && in.ok(); ++i) {
    wire::Rlimit limit = {in.number(), 0, 0};
    limit.soft = in.number();
    limit.hard = in.number();
    holding.rlimits.push_back(limit);
  }
  return holding;
}

}  // namespace cove::native
