#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace cove {

// The layer on top of an image's own layers that makes it usable for a sandbox: mount points, an account `user` if the
// image has none, host name files, sudo, and the module that writes figures (figures_module.h). It hides nothing of the
// image except the host name files, a /.cove that is not a folder, and the image's sudo; a link in place of a folder is
// kept, too.
struct TopOrder {
  int image = -1;                              // the merged root of the image's layers, opened
  std::string folder;                          // exists and is empty
  std::string sudo;                            // the program; empty: none
  std::function<uint32_t(uint32_t)> owner_id;  // maps an id inside to the id that owns the file
};
Result<void> build_image_top(const TopOrder& order);

}  // namespace cove
