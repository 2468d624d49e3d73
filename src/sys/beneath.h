#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

// Paths below a folder with untrusted contents: a sandbox's layer or root, a workspace, coved's own folder, an image.
// Every privileged access to such a path uses these functions.
//
// No link is followed, not even in parent folders, and no path leads out of the folder (ELOOP, EXDEV). The type of the
// opened file is checked, and opening never blocks: a FIFO instead of a file is an error.
namespace cove::sys {

// Opens any entry, including a link itself, with O_PATH.
Result<UniqueFd> find_beneath(int folder, const std::string& path);
Result<struct stat> stat_beneath(int folder, const std::string& path);
// A folder; "." is `folder` itself.
Result<UniqueFd> open_folder_beneath(int folder, const std::string& path, int flags = O_PATH);
// Opens an existing regular file.
Result<UniqueFd> open_file_beneath(int folder, const std::string& path, int flags);
Result<std::string> read_beneath(int folder, const std::string& path, size_t most);

// Creates a file. Exists if there is any entry with that name, even a link.
Result<void> make_folder_beneath(int folder, const std::string& path, mode_t mode);
Result<void> make_file_beneath(int folder, const std::string& path, std::string_view data, mode_t mode);

// Removes a file, a link or an empty folder.
Result<void> remove_beneath(int folder, const std::string& path);

}  // namespace cove::sys
