#include "runtime/native/figures.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "model/figures.h"

namespace cove::native {
namespace {

// The whole file; empty if it is larger than the limit or cannot be read.
std::string read_whole(int fd, uint64_t most) {
  struct stat info;
  if (::fstat(fd, &info) < 0 || !S_ISREG(info.st_mode)) return {};
  auto size = static_cast<uint64_t>(info.st_size);
  if (size > most) return {};
  std::string data(size, '\0');
  size_t read = 0;
  while (read < size) {
    ssize_t count = ::pread(fd, data.data() + read, size - read, static_cast<off_t>(read));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return {};
    read += static_cast<size_t>(count);
  }
  return data;
}

}  // namespace

std::vector<std::string> read_figures(const std::vector<UniqueFd>& files) {
  std::vector<std::string> figures;
  uint64_t room = kMostOfFigures;
  for (const UniqueFd& file : files) {
    std::string data = read_whole(file.get(), std::min(room, kMostOfFigure));
    if (!is_png(data)) continue;
    room -= data.size();
    figures.push_back(std::move(data));
  }
  return figures;
}

}  // namespace cove::native
