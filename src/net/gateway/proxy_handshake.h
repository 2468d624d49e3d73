#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "net/gateway/sandbox_context.h"

namespace cove::net {

// What a program inside told an explicit proxy to do.
struct ProxyOrder {
  enum class Kind {
    Tunnel,    // connect to `target`, which was decided on and not denied
    Requests,  // HTTP requests in absolute form: HttpFlow, Inside::Proxy, with `bytes`
    Internal,  // http://cove.internal/: InternalPage, with `granted` sent before
  };
  Kind kind = Kind::Tunnel;
  UniqueFd client;    // non-blocking
  std::string bytes;  // that it sent after its order (Tunnel), or all that it sent (Requests)
  Target target;      // a synthetic address is its name already
  // What the client is answered once the connection is there, or is not. Then it sends its first bytes.
  std::string granted;
  std::string unreachable;
  std::string denied;  // every address was refused
};

// Speaks with a program that uses a proxy until it is known what it wants. Refuses what the policy denies by itself.
class ProxyHandshake {
 public:
  enum class Protocol { Socks, Http };
  // Nothing where the connection is over. Called once, from the loop; it may destroy the handshake.
  using Done = std::function<void(std::optional<ProxyOrder>)>;
  static constexpr std::chrono::seconds kPatience{30};

  virtual ~ProxyHandshake() = default;  // closes the connection
  static std::unique_ptr<ProxyHandshake> start(SandboxContext& context, Protocol protocol, UniqueFd client, Done done);
};

}  // namespace cove::net
