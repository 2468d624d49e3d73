#pragma once

#include <memory>
#include <string>

#include "net/openssl.h"
#include "net/policy.h"

namespace cove::net {

// TLS of the gateway: the authorities that servers outside are checked against, and the certificates that programs
// inside are shown. One for the process.
class GatewayTls {
 public:
  virtual ~GatewayTls() = default;
  // Reads the host's store: to be called before the fences go up. Without one, only what trust() adds is trusted.
  static Result<std::unique_ptr<GatewayTls>> create();
  // Trusts these authorities, too (PEM). Invalid where it holds none.
  virtual Result<void> trust(const std::string& certificates) = 0;

  // A session that checks that the server's certificate is valid and for that name.
  virtual Result<TlsSession> new_client(const std::string& name) = 0;
  // One that shows a certificate for that name, signed by the policy's authority, to clients that ask for no other
  // name. Invalid where the authority is unusable.
  virtual Result<TlsSession> new_server(const std::string& name, const EffectivePolicy& policy) = 0;
};

}  // namespace cove::net
