#pragma once

#include <vector>

#include "base/result.h"
#include "runtime/native/builder.h"

namespace cove::native {

// Builders that do not end when a sandbox's walls stand, but go back to where they were and wait for the next order:
// for each sandbox a process less is made and ended, and the one that forks process 1 has little memory. For root's
// long-lived sandboxes, where the builder has nothing to look after.
//
// Process 1 of what they build is this process's own child, and so are they: it reaps both. They end with this object,
// or with the process. One that fails ends, too: what state it is in nobody need know.
class BuilderPool {
 public:
  static bool takes(const SpawnPlan& plan);

  // As start_builder.
  Result<Builder> build(const SpawnPlan& plan, sys::SocketPair& control);
  // Lets those go that are too many, now that there is less to do.
  void maintain();

 private:
  struct Member {
    sys::Child process;
    UniqueFd orders;
    bool idle = true;
  };

  Result<Member*> find_idle();

  std::vector<Member> members_;
};

}  // namespace cove::native
