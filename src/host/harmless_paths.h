#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/harmless_arguments.h"

namespace cove::harmless {

// The workspace, and where in it a command runs.
struct Place {
  int folder = -1;        // the workspace
  std::string workspace;  // its path on the host, without a slash at the end
  std::string below;      // the working folder below it; "." for itself
};

// `cwd` below the workspace, be it the host's path or the sandbox's; the folder must be there, without links on the
// way.
Result<std::string> find_below(int folder, const std::string& workspace, const std::string& seen_at,
                               const std::string& cwd);

// Nothing is mounted below the workspace: a program that walks through folders would go into it, where the sandbox has
// an empty folder.
Result<void> check_mounts(const std::string& workspace);

// Each path is of its kind and lies in the workspace: no link on the way, no way out, nothing mounted in between.
Result<void> check_paths(const Place& place, const std::vector<PathOperand>& paths, uint64_t most_bytes);

// The full path of a program of the system's own: in one of the folders, root's, and nobody else can write to it.
inline const std::vector<std::string> kProgramFolders = {"/usr/bin", "/bin"};
Result<std::string> find_trusted_program(const std::string& name,
                                         const std::vector<std::string>& folders = kProgramFolders);
// The same for a path: the opened program (O_PATH).
Result<UniqueFd> open_trusted_program(const std::string& path,
                                      const std::vector<std::string>& folders = kProgramFolders);

}  // namespace cove::harmless
