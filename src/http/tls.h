#pragma once

#include <memory>

#include "http/stream.h"

namespace cove::http {

struct Tls;

// A certificate with its key, and the rules: TLS 1.2 or later.
class TlsContext {
 public:
  static Result<std::unique_ptr<TlsContext>> create(const Tls& files);
  virtual ~TlsContext() = default;
  // An accepted socket, before its handshake.
  virtual Result<std::unique_ptr<Stream>> wrap(UniqueFd socket) = 0;
};

}  // namespace cove::http
