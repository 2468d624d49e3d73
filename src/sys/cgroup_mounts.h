#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Parses the cgroup files of /proc.
namespace cove::sys {

// A mounted hierarchy, or a part of one.
struct CgroupMount {
  int version = 0;
  std::string controllers;  // v1: "rw,cpu,cpuacct"
  std::string root;         // the group that is seen at `point`
  std::string point;
};

// The group of this process in one hierarchy.
struct CgroupMembership {
  std::string controllers;  // v1: "cpu,cpuacct"; v2: ""
  std::string path;
};

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo);
std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view proc_self_cgroup);

// Whether `word` is one of a list like "rw,cpu,cpuacct" or "cpu io memory".
bool has_builder_message(std::string_view list, std::string_view word, char separator);

// The folder of the group `path` under the mount; empty if the mount does not contain it.
std::optional<std::string> folder_of(const CgroupMount& mount, std::string_view path);

}  // namespace cove::sys
