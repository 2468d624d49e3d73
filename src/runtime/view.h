#pragma once

#include <fcntl.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "init/protocol.h"

namespace cove {

using FileEntry = wire::Entry;

enum class Links { Follow, Keep };
enum class Depth { One, Recursive };

// A sandbox's files as one of its users sees them. Links resolve inside; a returned descriptor was opened there and may
// be anything (check its type before reading).
class View {
 public:
  virtual ~View() = default;
  virtual Result<UniqueFd> open(const std::string& path, int flags, mode_t mode = 0644) = 0;
  virtual Result<FileEntry> stat(const std::string& path, Links links) = 0;
  virtual Result<std::vector<FileEntry>> list(const std::string& path) = 0;
  virtual Result<void> mkdir(const std::string& path, mode_t mode, Depth depth) = 0;
  virtual Result<void> remove(const std::string& path, Depth depth) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> chmod(const std::string& path, mode_t mode) = 0;
  virtual Result<std::string> readlink(const std::string& path) = 0;
  virtual Result<void> symlink(const std::string& target, const std::string& path) = 0;
  // Watches a file or a folder's entries with inotify(7): the first call also makes events_fd() valid.
  virtual Result<int> watch(const std::string& path, uint32_t mask) = 0;
  virtual Result<void> unwatch(int watched) = 0;
  virtual int events_fd() const = 0;
  // The matching paths, relative to `folder` if the pattern is.
  virtual Result<std::vector<FileEntry>> glob(const std::string& pattern, const std::string& folder) = 0;
};

}  // namespace cove
