#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "image/tree_writer.h"

namespace cove {

// Copies what programs need of the host's /etc (certificates, alternatives, ld.so's and the languages' settings…) to
// `etc` below the writer's root, and nothing else: only regular files, folders and links that every user of the machine
// can read, no keys and no passwords.
Result<void> copy_etc(const std::string& host_etc, const TreeWriter& out);

// Writes what is generated: passwd, group, hosts, resolv.conf, nsswitch.conf…; nothing in it tells of the host.
Result<void> generate_etc(const TreeWriter& out);

struct GeneratedFile {
  const char* path;
  std::string_view data;
};
// Of those, what says how hosts are called: every image has them.
std::span<const GeneratedFile> host_names();
// Every user of a sandbox may use git in the workspace and in what others inside have made.
inline constexpr std::string_view kGitConfig = "[safe]\n\tdirectory = *\n";

}  // namespace cove
