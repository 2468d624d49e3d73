#pragma once

#include <functional>
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
  // More hosts come from the image's own configuration (npm's registry, apt's sources): see image_hosts().
  bool from_image = false;
  bool image_receives_data = false;  // whether data can be sent to these
};
std::span<const Group> groups();  // by name
const Group* find_group(std::string_view name);

// The hosts that configuration files name, as rules ("host", "host:8081"); what cannot be a host is left out.
std::vector<std::string> hosts_of_npmrc(std::string_view text);
std::vector<std::string> hosts_of_apt_sources(std::string_view text);  // one-line and deb822 forms
// The registry that npm takes where no file names one, from its own definitions.js.
std::vector<std::string> hosts_of_npm_definitions(std::string_view text);

// The files of an image, as they are in it: never those that a sandbox has changed.
struct ImageFiles {
  std::function<Result<std::string>(const std::string& path)> read;
  std::function<std::vector<std::string>(const std::string& folder)>
      list;  // names; empty where there is no such folder
};
// The rules that an image's own configuration gives for a group that is `from_image`.
std::vector<std::string> image_hosts(const Group& group, const ImageFiles& image);

}  // namespace cove::net
