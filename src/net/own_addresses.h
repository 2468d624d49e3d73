#pragma once

#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/rule.h"

namespace cove::net {

// Which addresses are this machine's, as the kernel's routes say at that moment. Also broadcast addresses.
class OwnAddresses {
 public:
  // To be called before system calls are restricted.
  static Result<OwnAddresses> open();
  // True where the kernel does not answer.
  bool contains(const Address& address) const;

 private:
  explicit OwnAddresses(UniqueFd routes) : routes_(std::move(routes)) {}
  UniqueFd routes_;
  mutable uint32_t last_ = 0;  // request
};

}  // namespace cove::net
