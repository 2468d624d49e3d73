#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cove::net {

struct GroupHost {
  const char* rule;  // "pypi.org", "*.crates.io"
  // Whether data can be sent there to be stored or shown to others (uploads, gists, issues): then it is a way out.
  bool receives_data;
};
struct Group {
  const char* name;  // "python"
  const char* title;
  std::span<const GroupHost> hosts;
  // Its hosts come from the image's own configuration (npm's registry, apt's sources): see image_hosts().
  bool from_image;
};
std::span<const Group> groups();
const Group* find_group(std::string_view name);

// The hosts that the configuration files of an image name for a group that is `from_image`: "node" from npmrc files,
// "debian" from apt's sources. `read` gives the text of a file of the image, or an error.
std::vector<std::string> hosts_of_npmrc(std::string_view text);
std::vector<std::string> hosts_of_apt_sources(std::string_view text);  // one-line and deb822 forms

}  // namespace cove::net
