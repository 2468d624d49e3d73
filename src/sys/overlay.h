#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "sys/mount.h"

namespace cove::sys {

// The lower folders of an overlay, the topmost first, as mount options. The kernel accepts strings of at most 255
// bytes; if the folders do not fit, they are passed one by one, which requires Linux 6.7.
inline sys::MountOptions lower_options(const std::vector<std::string>& paths) {
  constexpr size_t kLongest = 255;
  std::string all = join(paths, ":");
  if (all.size() <= kLongest) return {{"lowerdir", all}};
  sys::MountOptions options;
  for (const std::string& path : paths) options.emplace_back("lowerdir+", path);
  return options;
}

}  // namespace cove::sys
