#include "model/sandbox.h"

#include <algorithm>
#include <iterator>

namespace cove {
namespace {

constexpr const char* kAccessNames[] = {"none", "ro", "rw", "review"};  // in the order of Access

}  // namespace

const char* access_name(Access access) { return kAccessNames[static_cast<size_t>(access)]; }

std::optional<Access> access_of(std::string_view name) {
  auto found = std::find(std::begin(kAccessNames), std::end(kAccessNames), name);
  if (found == std::end(kAccessNames)) return std::nullopt;
  return static_cast<Access>(found - std::begin(kAccessNames));
}

}  // namespace cove
