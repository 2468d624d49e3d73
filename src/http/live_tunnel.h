#pragma once

#include "http/tunnel.h"
#include "http/wire.h"

namespace cove::http {

class LiveTunnel final : public Tunnel {
 public:
  explicit LiveTunnel(Wire& wire) : wire_(wire) {}
  void relay(int socket, std::string_view early) override;

 private:
  Wire& wire_;
};

}  // namespace cove::http
