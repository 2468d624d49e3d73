#pragma once

#include <sys/types.h>

#include <string>

#include "base/unique_fd.h"

namespace cove::test {

// A Podman or Docker engine of a test's own: its own socket, storage and containers, and the image kImage. Ended, with
// all that it has, by the destructor.
class ContainerEngine {
 public:
  static constexpr const char* kImage = "cove-test";

  // `kind`: "podman" or "docker".
  explicit ContainerEngine(const std::string& kind);
  ~ContainerEngine();
  ContainerEngine(const ContainerEngine&) = delete;

  bool running() const { return running_; }
  const std::string& folder() const { return folder_; }
  std::string socket() const { return folder_ + "/engine.sock"; }

 private:
  std::string folder_;
  pid_t pid_ = -1;
  UniqueFd input_;
  bool running_ = false;
};

}  // namespace cove::test
