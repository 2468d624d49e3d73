#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/unique_fd.h"

namespace cove::net {

// A pipe for splice, non-blocking.
struct Pipe {
  UniqueFd out;  // read end
  UniqueFd in;   // write end
  size_t room = 0;
};

// Pipes that relays share: each holds one only while it has bytes. The kernel gives a user 64 MiB of large pipes in
// all; beyond kMostLarge, they have the size that the kernel gives, which may be as small as 8 KiB.
class PipePool {
 public:
  static constexpr size_t kLarge = 256 * 1024;
  static constexpr size_t kMostLarge = 192;
  static constexpr size_t kMostKept = 64;

  // Nothing where the kernel has no descriptors left.
  std::optional<Pipe> take();
  // An empty one. One with bytes in it is to be destroyed and reported with `lose`.
  void give_back(Pipe pipe);
  void lose(Pipe pipe);
  size_t kept() const { return kept_.size(); }

 private:
  std::vector<Pipe> kept_;
  size_t large_ = 0;
};

}  // namespace cove::net
