#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/gateway/loop.h"
#include "net/rule.h"

namespace cove::net {

struct Resolution {
  enum class Outcome {
    Found,
    NoAddress,  // the name exists, without addresses
    NoName,     // it does not exist
    Failed,     // no server answered, or none could
  };
  Outcome outcome = Outcome::Failed;
  std::vector<Address> addresses;  // in the order in which they should be tried
  std::string why;                 // for people, where it was not found
};

// Resolves names by the server's own resolvers, with c-ares. What a name was resolved to is kept for its TTL (the
// smallest of the chain of aliases, at least a second and at most an hour), so that a name is pinned for that long. The
// host's /etc/hosts is never read: what a name means inside does not depend on the host's own names.
class Resolver {
 public:
  using Done = std::function<void(const Resolution&)>;
  // Of a query for any record type: the server's answer as it came, without a valid id; empty where there was none.
  using Answered = std::function<void(std::string answer)>;
  static constexpr size_t kMostOfOwner = 256;  // lookups and queries at a time; more fail at once

  virtual ~Resolver() = default;  // callbacks that were not called yet never are
  // To be called before the process gives up its access to files.
  static Result<std::unique_ptr<Resolver>> create(Loop& loop);
  // "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53". What is being looked up fails.
  virtual Result<void> use_servers(const std::vector<std::string>& servers) = 0;

  // Calls once: from the loop, within about ten seconds, or at once where the result is known. The number cancels it; 0
  // if it was called already. `owner` is for whom it is done: the sandbox.
  virtual uint64_t resolve(const void* owner, const std::string& name, Done done) = 0;
  virtual uint64_t query(const void* owner, const std::string& name, uint16_t type, Answered answered) = 0;
  virtual void cancel(uint64_t request) = 0;
};

// The name servers that the text of a resolv.conf names, at most three.
std::vector<std::string> servers_of_resolv_conf(std::string_view text);

}  // namespace cove::net
