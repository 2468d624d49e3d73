#pragma once

#include <sys/types.h>

#include <string>

namespace cove::bench {

// A real registry (Debian's docker-registry) on the loopback, in a folder of the benchmark's own.
class Registry {
 public:
  explicit Registry(const std::string& folder);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // What an image is called there.
  std::string address(const std::string& name) const;
  // Puts the image of an OCI layout there.
  void push(const std::string& layout, const std::string& tag, const std::string& name) const;

 private:
  int port_;
  pid_t pid_ = -1;
};

}  // namespace cove::bench
