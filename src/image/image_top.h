#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace cove {

// What lies over an image's own layers, so that a sandbox can be made of it: the folders that things are mounted on, an
// account `user` where the image has none, names of hosts, sudo, and what figures are written with (figures_module.h).
// Nothing that the image has is hidden, but for the names of hosts, a /.cove that is no folder, and what it may have
// for sudo; where it has a link in place of a folder, that stays, too.
struct TopOrder {
  int image = -1;                              // the image's root as its layers show it, opened
  std::string folder;                          // exists and is empty
  std::string sudo;                            // the program; empty: none
  std::function<uint32_t(uint32_t)> owner_id;  // the id to give a file to, of an id inside
};
Result<void> build_image_top(const TopOrder& order);

}  // namespace cove
