#pragma once

#include "net/channel.h"
#include "net/gateway/client_hello.h"
#include "net/gateway/gateway_tls.h"
#include "net/gateway/loop.h"
#include "net/gateway/outbox.h"
#include "net/gateway/pipe_pool.h"
#include "net/gateway/resolver.h"
#include "net/own_addresses.h"

namespace cove::net {

// What all sandboxes of the gateway share.
struct Services {
  Loop& loop;
  Resolver& resolver;
  GatewayTls& tls;
  const OwnAddresses& own_addresses;
  HelloParser& hellos;
  PipePool& pipes;
  Outbox& outbox;
  uint64_t descriptors;  // that the process may have open
  GatewaySettings settings = {};
};

}  // namespace cove::net
