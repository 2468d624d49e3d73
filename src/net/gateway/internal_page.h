#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

// http://cove.internal/, as a sandbox sees it: its policy, what it was denied, and how to ask for access.
class InternalPage {
 public:
  virtual ~InternalPage() = default;  // cuts the connections
  static std::unique_ptr<InternalPage> create(SandboxContext& context);
  // Takes over a connection to 10.0.2.3:80, of which `first_bytes` were read already.
  virtual void serve(UniqueFd client, std::string first_bytes) = 0;
};

}  // namespace cove::net
