#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"

namespace cove::init {

inline std::string of_process(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// Also false if it is longer than expected for such a file.
inline bool read_process_file(const std::string& path, std::string& text) {
  constexpr size_t kMost = 1 << 20;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  text.clear();
  char piece[4096];
  for (ssize_t count; (count = ::read(file.get(), piece, sizeof piece)) != 0;) {
    if (count < 0 || text.size() > kMost) return false;
    text.append(piece, static_cast<size_t>(count));
  }
  return true;
}

}  // namespace cove::init
