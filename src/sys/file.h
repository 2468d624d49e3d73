#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

// Files and folders. Every descriptor is opened close-on-exec; every error names the call and the path.
namespace cove::sys {

Result<UniqueFd> open(const std::string& path, int flags, mode_t mode = 0);
Result<UniqueFd> openat(int folder, const std::string& path, int flags, mode_t mode = 0);
// openat2 with RESOLVE_* flags: for untrusted paths.
Result<UniqueFd> openat2(int folder, const std::string& path, int flags, uint64_t resolve, mode_t mode = 0);
Result<UniqueFd> dup(int fd);

Result<std::string> read_all(int fd, size_t most = SIZE_MAX);
Result<std::string> read_file(const std::string& path, size_t most = SIZE_MAX);
Result<std::string> read_file_at(int folder, const std::string& path, size_t most = SIZE_MAX);
Result<void> write_all(int fd, std::string_view data);
// One write(2) to an existing file, as kernel interfaces require.
Result<void> poke(const std::string& path, std::string_view data);
Result<void> poke_at(int folder, const std::string& path, std::string_view data);
// Creates or replaces the file.
Result<void> write_file(const std::string& path, std::string_view data, mode_t mode = 0644);

Result<void> mkdir(const std::string& path, mode_t mode);
Result<void> mkdirat(int folder, const std::string& path, mode_t mode);
// mkdir -p; existing folders are not changed.
Result<void> make_folders(const std::string& path, mode_t mode = 0755);
// rm -rf, by descriptor, never through a link and never into another mount.
Result<void> remove_tree(const std::string& path);
Result<void> remove_tree_at(int folder, const std::string& name);
Result<void> rename(const std::string& from, const std::string& to);
Result<void> symlink(const std::string& target, const std::string& path);
Result<std::string> readlink(const std::string& path);
Result<std::vector<std::string>> list_folder(const std::string& path);  // names, sorted
Result<std::vector<std::string>> list_folder(int folder);

Result<struct stat> stat(const std::string& path);
Result<struct stat> lstat(const std::string& path);
Result<struct stat> fstat(int fd);
bool exists(const std::string& path);

Result<void> set_nonblocking(int fd);

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
Result<Pipe> pipe();

// "/proc/self/fd/N": a path for a descriptor.
std::string fd_path(int fd);

}  // namespace cove::sys
