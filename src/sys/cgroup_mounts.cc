#include "sys/cgroup_mounts.h"

#include <algorithm>

namespace cove::sys {
namespace {

// Removes and returns everything up to the separator from the start of `text`.
std::string_view take(std::string_view& text, char separator) {
  size_t end = std::min(text.find(separator), text.size());
  std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

bool is_octal(std::string_view digits) {
  return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '7'; });
}

// mountinfo writes spaces and backslashes as octal escapes like \040.
std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text.substr(i + 1, 3))) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "36 35 0:33 ROOT POINT rw,relatime shared:9 - cgroup cgroup rw,memory"
CgroupMount parse_mount(std::string_view line, size_t dash) {
  std::string_view back = line.substr(dash + 3);
  CgroupMount mount;
  mount.version = take(back, ' ') == "cgroup2" ? 2 : 1;
  take(back, ' ');
  mount.controllers = back;
  for (int skipped = 0; skipped < 3; ++skipped) take(line, ' ');
  mount.root = unescape(take(line, ' '));
  mount.point = unescape(take(line, ' '));
  return mount;
}

}  // namespace

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  while (!mountinfo.empty()) {
    std::string_view line = take(mountinfo, '\n');
    size_t dash = line.find(" - cgroup");
    if (dash != line.npos) mounts.push_back(parse_mount(line, dash));
  }
  return mounts;
}

std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view proc_self_cgroup) {
  std::vector<CgroupMembership> memberships;
  while (!proc_self_cgroup.empty()) {
    std::string_view line = take(proc_self_cgroup, '\n');
    take(line, ':');
    std::string_view controllers = take(line, ':');
    memberships.push_back({std::string(controllers), std::string(line)});
  }
  return memberships;
}

bool has_builder_message(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    std::string_view next = take(list, separator);
    if (next.ends_with('\n')) next.remove_suffix(1);
    if (next == word) return true;
  }
  return false;
}

std::optional<std::string> folder_of(const CgroupMount& mount, std::string_view path) {
  std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
  if (!path.starts_with('/') || path.starts_with("/..") || !path.starts_with(root)) return std::nullopt;
  path.remove_prefix(root.size());
  if (!path.empty() && path[0] != '/') return std::nullopt;
  return path == "/" ? mount.point : mount.point + std::string(path);
}

}  // namespace cove::sys
