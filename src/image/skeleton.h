#pragma once

#include <string>

#include "base/result.h"

namespace cove {

// The sources of a host image.
struct HostSource {
  std::string root;          // "" is this machine's own root; a folder that looks like one, in tests
  std::string sudo_program;  // empty: none
  unsigned first_id = 0;     // the host's id of the image's user 0; 0 where mounts are mapped
};

// Builds the generated parts of a host image in `folder`, which exists and is empty:
//   root/         the skeleton of the root file system
//   over/NAME/    the layer over the host's /NAME (at least usr); one for each visible folder
//   opt           the names of separately mounted entries of the host's /opt, one per line
//   dev/          the devices, or placeholders for them
Result<void> build_host_image(const HostSource& host, const std::string& folder);

// The devices of a sandbox, or placeholders for them, and the links and folders of /dev.
Result<void> build_devices(const std::string& folder);

}  // namespace cove
