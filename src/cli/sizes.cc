#include "cli/sizes.h"

#include "base/text.h"

namespace cove::cli {
namespace {

// README.md and the help of --size show this table.
constexpr Size kSizes[] = {
    {"small", 0.5, 512 * kMiB, 2 * kGiB},
    {"medium", 1, 2 * kGiB, 10 * kGiB},
    {"large", 2, 4 * kGiB, 20 * kGiB},
    {"xl", 4, 8 * kGiB, 40 * kGiB},
};

template <typename T>
void name_if_free(Limit<T>& limit, T value) {
  if (!limit.named) limit.name(value);
}

}  // namespace

std::vector<std::string> size_names() {
  std::vector<std::string> names;
  for (const Size& size : kSizes) names.emplace_back(size.name);
  return names;
}

Result<void> apply_size(Limits& limits, const std::string& name) {
  for (const Size& size : kSizes) {
    if (name != size.name) continue;
    name_if_free(limits.cpus, size.cpus);
    name_if_free(limits.memory, size.memory);
    name_if_free(limits.disk, size.disk);
    return {};
  }
  return fail(
      Error(Code::Invalid, concat("'", name, "' is not a size")).hint(concat("write ", join(size_names(), ", "))));
}

}  // namespace cove::cli
