#pragma once

#include <vector>

#include "base/result.h"
#include "runtime/native/builder.h"

namespace cove::native {

// Builders that do not end when a sandbox is built, but return to their own namespaces and wait for the next order.
// This saves creating and ending one process per sandbox, and the process that forks process 1 has little memory. Used
// for root's long-lived sandboxes, which the builder does not have to watch.
//
// The builders and the process 1 of each sandbox they build are children of this process, which reaps both. Builders
// end with this object or with the process. A builder that fails ends, too, because its state is unknown.
class BuilderPool {
 public:
  static bool takes(const SpawnPlan& plan);

  // Like start_builder.
  Result<Builder> build(const SpawnPlan& plan, sys::SocketPair& control);
  // Ends surplus builders when there is less to do.
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
