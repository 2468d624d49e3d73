#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/network/networks.h"

namespace cove::engine {

// What is on the log of a sandbox's network: the newest entries, numbered. Thread-safe.
class NetworkLog {
 public:
  using Entry = Networks::LogEntry;
  // Numbers begin behind `first`.
  explicit NetworkLog(uint64_t first) : next_(first + 1) {}

  uint64_t add(net::NetworkEntry entry);
  std::vector<Entry> after(uint64_t seq, size_t limit) const;
  uint64_t last() const;
  Result<std::shared_ptr<Networks::LogFollower>> follow();
  // Wakes the followers: the log is no one's any more.
  void end();

 private:
  void wake();

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  uint64_t next_;
  std::vector<std::weak_ptr<Networks::LogFollower>> followers_;
};

bool is_denial(const net::NetworkEntry& entry);
// The rule that would allow what was denied: "pypi.org:443", "pypi.org" of a lookup, "10.0.0.5/32:443" where an address
// was refused. Empty where no rule would.
std::string rule_for(const net::NetworkEntry& entry);
// As an exec's result tells of it.
Denial denial_of(const net::NetworkEntry& entry, const std::string& sandbox);
// One for each host and port, at most `most`.
std::vector<Denial> denials_of(const std::vector<NetworkLog::Entry>& entries, const std::string& sandbox, size_t most);

}  // namespace cove::engine
