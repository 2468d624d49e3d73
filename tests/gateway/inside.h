#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/sockets.h"

namespace cove::test {

// A network namespace as a sandbox has it. A program that runs in it opens sockets there, which the test uses.
class Inside {
 public:
  static Result<std::unique_ptr<Inside>> create();
  ~Inside();

  // Those that the gateway serves; taken once.
  NetworkSockets take_sockets() { return std::move(sockets_); }
  UniqueFd socket(int family, int type);

 private:
  Inside(UniqueFd channel, pid_t child) : channel_(std::move(channel)), child_(child) {}

  UniqueFd channel_;
  pid_t child_;
  NetworkSockets sockets_;
};

}  // namespace cove::test
