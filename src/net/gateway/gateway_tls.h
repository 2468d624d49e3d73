#pragma once

#include <memory>
#include <string>

#include "base/result.h"

typedef struct ssl_st SSL;

namespace cove::net {

// TLS of the gateway: the authorities that servers outside are checked against, and the certificates that programs
// inside are shown. One for the process.
class GatewayTls {
 public:
  virtual ~GatewayTls() = default;
  // Reads the host's store: to be called before the fences go up.
  static Result<std::unique_ptr<GatewayTls>> create();
  // Trusts these authorities, too (PEM). Invalid where it holds none.
  virtual Result<void> trust(const std::string& certificates) = 0;

  // A session that checks the server's certificate for that name.
  virtual Result<SSL*> new_client(const std::string& name) = 0;
  // One that shows a certificate for that name, signed by the authority (PEM). Invalid where the authority is unusable.
  virtual Result<SSL*> new_server(const std::string& name, const std::string& authority_certificate,
                                  const std::string& authority_key) = 0;
};

}  // namespace cove::net
