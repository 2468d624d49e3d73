#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/gateway/sandbox_network.h"
#include "net/gateway/services.h"
#include "sys/socket.h"

namespace cove::net {

// cove-gateway VERSION: the channel to coved is this descriptor.
inline constexpr int kGatewayChannelFd = 3;

// The gateway's side of the channel, and the sandboxes that it serves.
class GatewayServer {
 public:
  // What has to be opened or read before the process gives up its access to files.
  struct Parts {
    std::unique_ptr<Loop> loop;
    std::unique_ptr<Resolver> resolver;
    std::unique_ptr<GatewayTls> tls;
    OwnAddresses own_addresses;
    HelloParser hellos;
    std::vector<std::string> resolvers;  // of the host's resolv.conf
    uint64_t descriptors = 0;            // that the process may have open: as many as allowed
  };
  static Result<Parts> open_parts();

  GatewayServer(Parts parts, UniqueFd channel);
  ~GatewayServer();
  GatewayServer(const GatewayServer&) = delete;
  GatewayServer& operator=(const GatewayServer&) = delete;

  // Serves until the channel is closed. An error where what came over it is malformed.
  Result<void> run();

 private:
  void on_channel(uint32_t events);
  Result<void> take(sys::Message message);
  Result<void> take_settings(wire::Reader& in, const sys::Message& message);
  Result<void> take_attach(wire::Reader& in, sys::Message& message);
  Result<void> take_policy(wire::Reader& in, const sys::Message& message);
  Result<void> take_detach(wire::Reader& in);
  Result<void> take_sync(wire::Reader& in);
  SandboxNetwork& sandbox(const std::string& id);
  void watch_channel();

  Parts parts_;
  UniqueFd channel_;
  PipePool pipes_;
  Outbox outbox_;
  Services services_;
  std::map<std::string, std::unique_ptr<SandboxNetwork>> sandboxes_;
  Result<void> outcome_;
};

// Gives up all that the gateway does not need: other system calls than those for sockets and memory, files, debugging.
Result<void> apply_gateway_fences();

}  // namespace cove::net
