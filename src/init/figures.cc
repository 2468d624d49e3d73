#include "init/figures.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "init/protocol.h"

namespace cove::init {
namespace {

constexpr size_t kLongestName = 64;

// Whatever lies there was put there by the user's programs. A fork that lives on may write to it still.
UniqueFd open_figure(int folder, const char* name) {
  UniqueFd file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info;
  if (!file || ::fstat(file.get(), &info) < 0 || !S_ISREG(info.st_mode)) return {};
  return file;
}

}  // namespace

std::vector<UniqueFd> take_figures(pid_t session) {
  char path[kLongestName];
  std::snprintf(path, sizeof path, "/tmp/.cove-figures-%d", static_cast<int>(session));
  UniqueFd folder(::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  std::vector<UniqueFd> figures;
  if (!folder) return figures;
  for (size_t number = 1; number <= wire::kMaxFigures; ++number) {
    char name[kLongestName];
    std::snprintf(name, sizeof name, "figure-%02zu.png", number);
    UniqueFd file = open_figure(folder.get(), name);
    static_cast<void>(::unlinkat(folder.get(), name, 0));
    if (file) figures.push_back(std::move(file));
  }
  static_cast<void>(::rmdir(path));
  return figures;
}

}  // namespace cove::init
