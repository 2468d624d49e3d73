#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "image/tree_writer.h"

namespace cove {

// Copies only the parts of the host's /etc that programs need (certificates, alternatives, settings of ld.so and
// languages…) to `etc` below the writer's root: only regular files, folders and links that every user of the machine
// can read, no keys and no passwords.
Result<void> copy_etc(const std::string& host_etc, const TreeWriter& out);

// Writes the generated files: passwd, group, hosts, resolv.conf, nsswitch.conf…; they reveal nothing about the host.
Result<void> generate_etc(const TreeWriter& out);

struct GeneratedFile {
  const char* path;
  std::string_view data;
};
// The generated files for host names, which every image has.
std::span<const GeneratedFile> host_names();
// Lets every user of a sandbox use git in the workspace and in repositories of other users inside.
inline constexpr std::string_view kGitConfig = "[safe]\n\tdirectory = *\n";

}  // namespace cove
