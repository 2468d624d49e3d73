#pragma once

#include <string>

#include "base/result.h"

namespace cove {

// What a host image is made from.
struct HostSource {
  std::string root;          // "" is this machine's own root; a folder that looks like one, in tests
  std::string sudo_program;  // empty: none
  unsigned first_id = 0;     // the host's id of the image's user 0; 0 where mounts are mapped
};

// Builds all that a host image has of its own in `folder`, which exists and is empty:
//   root/         the skeleton of the root file system
//   over/NAME/    what lies over the host's /NAME (at least usr); one for each of its folders that are shown
//   opt           the names of what is shown of the host's /opt by itself, a line each
//   dev/          the devices, or placeholders for them
Result<void> build_host_image(const HostSource& host, const std::string& folder);

// The devices of a sandbox, or placeholders for them, and the links and folders that belong to /dev.
Result<void> build_devices(const std::string& folder);

}  // namespace cove
