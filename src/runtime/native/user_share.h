#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::native {

// Rootless, resources that the kernel counts per user (inotify, pending signals, timers, message queues, namespaces)
// are charged to the caller. A sandbox gets an eighth of each, so that one sandbox cannot use up all of them.
//
//   UserShare share = UserShare::measure();   // in the caller's user namespace
//   unshare(CLONE_NEWUSER)
//   share.apply()                             // before the sandbox's own user namespace is made
class UserShare {
 public:
  static UserShare measure();
  // If /proc/sys is read-only, as in most containers, inotify and namespaces are not limited.
  Result<void> apply() const;

 private:
  struct Count {
    std::string path;
    uint64_t limit;
  };
  std::vector<Count> counts_;
};

}  // namespace cove::native
