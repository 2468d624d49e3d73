#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/limits.h"
#include "sys/cgroup.h"

namespace cove::native {

// The control groups of sandboxes that have gone, for those to come. To make and to remove them takes the kernel a
// tenth of what a short-lived sandbox costs; to set their counters back, a tenth of that. Only what is as good as new
// is kept (Cgroup::renew), with the limits that it has, under the name of the sandbox that has gone: whoever sweeps up
// after this process finds a sandbox that nobody knows.
class GroupShelf {
 public:
  // A sandbox's group, and in it that of an exec.
  struct Pair {
    std::unique_ptr<sys::Cgroup> group;
    std::unique_ptr<sys::Cgroup> exec;
  };

  ~GroupShelf() { clear(); }
  GroupShelf() = default;
  GroupShelf(const GroupShelf&) = delete;
  GroupShelf& operator=(const GroupShelf&) = delete;

  // False where it is not kept: then it is still the caller's, to be removed.
  bool put(const Limits& limits, Pair& pair);
  // With that name, and these limits.
  std::optional<Pair> take(const Limits& limits, const std::string& name);
  // Removes what has long been of no use.
  void tend();
  void clear();
  bool empty() const { return kept_.empty(); }

 private:
  // Of its limits, those that the kernel was told.
  struct Key {
    explicit Key(const Limits& limits)
        : cpus(limits.cpus.value), memory(limits.memory.value), processes(limits.processes.value) {}
    bool operator==(const Key&) const = default;
    double cpus;
    uint64_t memory, processes;
  };
  struct Kept {
    Key limits;
    Pair pair;
    std::chrono::steady_clock::time_point since;
  };

  static void remove(Pair& pair);
  void remove_oldest();

  std::vector<Kept> kept_;  // the oldest first
};

}  // namespace cove::native
