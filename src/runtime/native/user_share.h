#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace cove::native {

// Rootless, what the kernel counts per user (inotify, pending signals, timers, message queues, namespaces) is counted
// for the caller, too. A sandbox gets an eighth of each, so that one cannot take it all.
//
//   UserShare share = UserShare::measure();   // in the caller's user namespace
//   unshare(CLONE_NEWUSER)
//   share.apply()                             // before the sandbox's own user namespace is made
class UserShare {
 public:
  static UserShare measure();
  // Where /proc/sys is read-only, as in most containers, inotify and namespaces are not limited.
  Result<void> apply() const;

 private:
  struct Count {
    std::string path;
    uint64_t limit;
  };
  std::vector<Count> counts_;
};

}  // namespace cove::native
