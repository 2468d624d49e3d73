#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "net/channel.h"
#include "net/gateway_client.h"

// The messages of coved's side of the channel to the gateway (docs/formats/gateway-channel.md).
namespace cove::net {

// A policy in a sealed file in memory. Its secrets leave no other copy here.
Result<UniqueFd> seal_policy(const EffectivePolicy& policy);

// Blocks until there is room, at most for the socket's patience.
Result<void> send_settings(int channel, const GatewaySettings& settings);
Result<void> send_attach(int channel, const std::string& sandbox, const NetworkSockets& sockets);
Result<void> send_policy(int channel, const std::string& sandbox, const UniqueFd& sealed);
Result<void> send_detach(int channel, const std::string& sandbox);
Result<void> send_sync(int channel, uint64_t token, const std::string& sandbox);

struct Synced {
  uint64_t token = 0;
  NetworkCounters counters;
  uint64_t dropped = 0;
};
Result<Synced> decode_synced(wire::Reader& in);

struct AccessRequest {
  std::string sandbox;
  std::string host;
  uint16_t port = 0;
  std::string reason;
};
// Invalid where a field is longer than 1 KiB, has control characters or is not what it must be.
Result<AccessRequest> decode_request(wire::Reader& in);

}  // namespace cove::net
