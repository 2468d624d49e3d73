#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

// Paths below a folder whose contents somebody else decides: a sandbox's layer or root, a workspace, coved's own
// folder, an image. Every privileged access to such a path goes through these functions.
//
// No link is followed, not even on the way to the last name, and no path leads out of the folder (ELOOP, EXDEV). The
// type is checked on what was opened, and opening never waits: a FIFO in the place of a file is an error.
namespace cove::sys {

// Whatever is there, a link itself included, without opening it (O_PATH).
Result<UniqueFd> find_beneath(int folder, const std::string& path);
Result<struct stat> stat_beneath(int folder, const std::string& path);
// A folder; "." is `folder` itself.
Result<UniqueFd> open_folder_beneath(int folder, const std::string& path, int flags = O_PATH);
// A regular file that is there already.
Result<UniqueFd> open_file_beneath(int folder, const std::string& path, int flags);
Result<std::string> read_beneath(int folder, const std::string& path, size_t most);

// Exists where there is anything of that name, be it a link.
Result<void> make_folder_beneath(int folder, const std::string& path, mode_t mode);
Result<void> make_file_beneath(int folder, const std::string& path, std::string_view data, mode_t mode);

// A file, a link or an empty folder.
Result<void> remove_beneath(int folder, const std::string& path);

}  // namespace cove::sys
