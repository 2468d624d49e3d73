#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "net/gateway/resolver.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

// Answers a sandbox's DNS questions, whatever server they were sent to. Nothing of a name that may not be reached
// leaves the machine.
class DnsServer {
 public:
  using Reply = std::function<void(std::string message)>;
  enum class Transport { Udp, Tcp };

  virtual ~DnsServer() = default;
  static std::unique_ptr<DnsServer> create(SandboxContext& context, Resolver& resolver);

  // Replies at once or within 600 ms, or never to what is no question.
  virtual void ask(std::string_view message, Transport transport, Reply reply) = 0;
  // DNS over TCP: takes over a connection to port 53.
  virtual void serve(UniqueFd client) = 0;
  // An exec has ended: what is denied from now on is logged, even if the same was just logged.
  virtual void forget_logged() = 0;
};

}  // namespace cove::net
