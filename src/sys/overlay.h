#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "sys/mount.h"

namespace cove::sys {

// The lower folders of an overlay, the topmost first, as options of its mount. The kernel takes a text of at most 255
// bytes; more folders than fit are named one by one, which needs Linux 6.7.
inline sys::MountOptions lower_options(const std::vector<std::string>& paths) {
  constexpr size_t kLongest = 255;
  std::string all = join(paths, ":");
  if (all.size() <= kLongest) return {{"lowerdir", all}};
  sys::MountOptions options;
  for (const std::string& path : paths) options.emplace_back("lowerdir+", path);
  return options;
}

}  // namespace cove::sys
