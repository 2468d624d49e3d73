#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "support/http_client.h"

namespace cove::test {

template <typename Condition>
bool comes_true(Condition condition, std::chrono::seconds patience = std::chrono::seconds(20)) {
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::usleep(20'000);
  }
  return true;
}

// `cove serve` as a child of a test, with a state folder of its own; ended, with all its sandboxes, by the destructor.
class ServerUnderTest {
 public:
  // `args` are those of `cove serve`; it listens at a Unix socket and at a port of the loopback.
  explicit ServerUnderTest(std::vector<std::string> args = {});
  ~ServerUnderTest();
  ServerUnderTest(const ServerUnderTest&) = delete;

  bool running() const { return !socket_.path.empty() && tcp_.port != 0; }
  const Endpoint& socket() const { return socket_; }
  const Endpoint& tcp() const { return tcp_; }
  const std::string& folder() const { return folder_; }
  pid_t pid() const { return pid_; }  // of cove-spawn
  // What it said until it served, or gave up.
  const std::string& said() const { return said_; }

  // SIGTERM, and its exit code.
  int stop();
  // SIGKILL to all of it; its sandboxes go on.
  void kill();
  // Until it ends by itself.
  void wait();
  // Again, with the state that it has; `crash_at` as in base/crash_point.h.
  void start_again(const std::string& crash_at = "");

 private:
  void start(const std::string& crash_at);
  void read_addresses();
  void delete_sandboxes();

  std::string folder_;
  std::vector<std::string> words_;
  pid_t pid_ = -1;
  UniqueFd errors_;
  std::string said_;
  Endpoint socket_;
  Endpoint tcp_;
};

}  // namespace cove::test
