#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "net/channel.h"

namespace cove::net {

struct NetworkCounters {
  uint64_t in_bytes = 0;
  uint64_t out_bytes = 0;
  uint64_t connections = 0;
};

// The gateway as the engine sees it. Thread-safe.
class Gateway {
 public:
  // Called by a thread of its own, in order. Must not call the gateway, nor wait for who does.
  struct Listener {
    virtual ~Listener() = default;
    virtual void entry(NetworkEntry entry) = 0;
    virtual void access_requested(const std::string& sandbox, const std::string& host, uint16_t port,
                                  const std::string& reason) = 0;
  };
  virtual ~Gateway() = default;
  // The sandbox's traffic is served once it has both sockets and a policy. Attaching again replaces the sockets.
  virtual Result<void> attach(const std::string& sandbox, NetworkSockets sockets) = 0;
  // Also cuts the open connections that the policy no longer allows; has acted when it returns.
  virtual Result<void> set_policy(const std::string& sandbox, const EffectivePolicy& policy) = 0;
  virtual void detach(const std::string& sandbox) = 0;
  // After every entry up to now was passed to the listener.
  virtual Result<NetworkCounters> sync(const std::string& sandbox) = 0;
};

// Starts cove-gateway when it is first needed, and anew when it has died: it then gets sockets and policies again, of
// which this keeps copies. `start` returns the channel to a new one.
std::unique_ptr<Gateway> make_gateway_client(std::function<Result<UniqueFd>()> start, GatewaySettings settings,
                                             std::shared_ptr<Gateway::Listener> listener);

}  // namespace cove::net
