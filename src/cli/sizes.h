#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/sandbox_options.h"
#include "model/limits.h"

// Named sizes of sandboxes, for --size. An order with this option has a member `size`.
namespace cove::cli {

struct Size {
  const char* name;
  double cpus;
  uint64_t memory;
  uint64_t disk;
};

std::vector<std::string> size_names();
// Sets the limits that are not set yet: -m, --cpus and --disk override --size, in any order.
Result<void> apply_size(Limits& limits, const std::string& name);

template <typename T>
inline constexpr Option<T> kSizeOption = {
    {"size", '\0', "SIZE",
     "CPUs, memory and disk by name: small (0.5, 512m, 2g),\nmedium (1, 2g, 10g), large (2, 4g, 20g), xl (4, 8g, 40g)",
     kLimits, size_names},
    [](T& order, Text text) -> Result<void> {
      if (!order.size.empty()) return fail(Code::Invalid, concat("--size was already given: ", order.size));
      order.size = text;
      return apply_size(sandbox_of(order).limits, text);
    }};

}  // namespace cove::cli
