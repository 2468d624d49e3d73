#include "init/figures.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "init/protocol.h"

namespace cove::init {
namespace {

constexpr size_t kLongestName = 64;
constexpr const char* kLeftOut = "left-out";

// The files are untrusted: the user's programs created them, and a process that is still running may write to them.
UniqueFd open_figure(int folder, const char* name) {
  UniqueFd file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return {};
  return file;
}

// Contains one byte for each figure that was left out.
uint64_t size_of(int folder, const char* name) {
  struct stat info;
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(info.st_mode)) return 0;
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace

Figures take_figures(pid_t session) {
  char path[kLongestName];
  std::snprintf(path, sizeof path, "/tmp/.cove-figures-%d", static_cast<int>(session));
  UniqueFd folder(::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Figures figures;
  if (!folder) return figures;
  for (size_t number = 1; number <= wire::kMaxFigures; ++number) {
    char name[kLongestName];
    std::snprintf(name, sizeof name, "figure-%02zu.png", number);
    UniqueFd file = open_figure(folder.get(), name);
    static_cast<void>(::unlinkat(folder.get(), name, 0));
    if (file) figures.files.push_back(std::move(file));
  }
  figures.left_out = size_of(folder.get(), kLeftOut);
  static_cast<void>(::unlinkat(folder.get(), kLeftOut, 0));
  static_cast<void>(::rmdir(path));
  return figures;
}

}  // namespace cove::init
