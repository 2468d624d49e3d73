#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "host/harmless_arguments.h"

namespace cove::harmless {

// The workspace, and the working folder of a command in it.
struct Place {
  int folder = -1;        // the workspace
  std::string workspace;  // its path on the host, without a trailing slash
  std::string below;      // the working folder below it; "." for the workspace itself
};

// Resolves `cwd`, a path on the host or in the sandbox, below the workspace; the folder must exist and its path must
// not contain links.
Result<std::string> find_below(int folder, const std::string& workspace, const std::string& seen_at,
                               const std::string& cwd);

// Checks that nothing is mounted below the workspace: a recursive program would enter it, while the sandbox has an
// empty folder there.
Result<void> check_mounts(const std::string& workspace);

// Checks that each path has the required type and is in the workspace, without links, ways out or mounts in between.
Result<void> check_paths(const Place& place, const std::vector<PathOperand>& paths, uint64_t most_bytes);

// The full path of a system program: in one of the folders, owned by root and writable only by root.
inline const std::vector<std::string> kProgramFolders = {"/usr/bin", "/bin"};
Result<std::string> find_trusted_program(const std::string& name,
                                         const std::vector<std::string>& folders = kProgramFolders);
// The same for a path: returns the opened program (O_PATH).
Result<UniqueFd> open_trusted_program(const std::string& path,
                                      const std::vector<std::string>& folders = kProgramFolders);

}  // namespace cove::harmless
