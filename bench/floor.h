#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace cove {
class Pool;
}

namespace cove::bench {

// What the kernel asks for a sandbox at least: the same namespaces, kinds of mounts and control groups as one of ours,
// `true` executed in it, and everything gone again, by nothing but the calls for it.
class Floor {
 public:
  // The writable layers lie in memory.
  Floor() = default;
  // They lie where those of a server's sandboxes do: each is a subvolume, with a limit, of a pool in this folder.
  explicit Floor(const std::string& folder);
  ~Floor();
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  // How many a second, by several processes at once: what makes namespaces must have one thread.
  double rate(int clients, std::chrono::seconds duration) const;

 private:
  std::string folder_;
  std::shared_ptr<Pool> pool_;
};

}  // namespace cove::bench
