#pragma once

#include <memory>
#include <optional>

#include "net/gateway/flow.h"
#include "net/gateway/proxy_handshake.h"

namespace cove::net {

// A connection to the gateway's own proxies, until it is known what it is for.
class ProxySession final : public Flow {
 public:
  // The sandbox owns it.
  static void start(SandboxNetwork& sandbox, ProxyHandshake::Protocol protocol, UniqueFd client);

  explicit ProxySession(SandboxNetwork& sandbox) : Flow(sandbox) {}
  void policy_changed() override {}
  void cut(const Verdict&) override { finish(); }
  bool undecided() const override { return true; }

 private:
  void ordered(std::optional<ProxyOrder> order);

  std::unique_ptr<ProxyHandshake> handshake_;
};

}  // namespace cove::net
