#pragma once

#include <linux/landlock.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cove::sys {

// Restricts a process's access to files with the kernel's Landlock: only what is allowed here.
//
//   Landlock fence = COVE_TRY(Landlock::create());
//   COVE_TRY(fence.allow(folder, kLandlockRead));
//   COVE_TRY(fence.restrict_self());
//
// The rules apply to the files of the descriptors, even if they are moved. Metadata (stat, readlink) is not restricted.
class Landlock {
 public:
  enum class Tcp { Forbidden, Allowed };
  // Forbids everything that this kernel's version supports: files, TCP, and signals and abstract sockets to others.
  // Unsupported if Landlock is not available.
  static Result<Landlock> create(Tcp tcp = Tcp::Forbidden);

  // Allows `rights` (LANDLOCK_ACCESS_FS_…) on the file, or on the folder and all below it.
  Result<void> allow(int file, uint64_t rights);
  // Restricts this thread and everything it starts. Requires no_new_privs or CAP_SYS_ADMIN.
  Result<void> restrict_self();

 private:
  explicit Landlock(UniqueFd ruleset) : ruleset_(std::move(ruleset)) {}
  UniqueFd ruleset_;
};

inline constexpr uint64_t kLandlockReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
inline constexpr uint64_t kLandlockRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
inline constexpr uint64_t kLandlockExecute = LANDLOCK_ACCESS_FS_EXECUTE;

}  // namespace cove::sys
