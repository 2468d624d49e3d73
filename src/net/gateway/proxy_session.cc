#include "net/gateway/proxy_session.h"

#include <sys/socket.h>

#include "net/gateway/http_session.h"
#include "net/gateway/sandbox_network.h"
#include "net/gateway/tcp_flow.h"

namespace cove::net {

void ProxySession::start(SandboxNetwork& sandbox, ProxyHandshake::Protocol protocol, UniqueFd client) {
  auto session = std::make_unique<ProxySession>(sandbox);
  ProxySession& it = *session;
  sandbox.add(std::move(session));
  it.handshake_ = ProxyHandshake::start(sandbox, protocol, std::move(client),
                                        [&it](std::optional<ProxyOrder> order) { it.ordered(std::move(order)); });
}

void ProxySession::ordered(std::optional<ProxyOrder> order) {
  finish();
  if (!order) return;
  switch (order->kind) {
    case ProxyOrder::Kind::Tunnel:
      return TcpFlow::start(sandbox_, {.client = std::move(order->client),
                                       .target = std::move(order->target),
                                       .first_bytes = std::move(order->bytes),
                                       .answers = TcpFlow::Answers{.granted = std::move(order->granted),
                                                                   .unreachable = std::move(order->unreachable),
                                                                   .denied = std::move(order->denied)}});
    case ProxyOrder::Kind::Requests: {
      HttpFlow::Order http;
      http.inside = HttpFlow::Inside::Proxy;
      http.client = std::move(order->client);
      http.first_bytes = std::move(order->bytes);
      return HttpSession::start(sandbox_, std::move(http), {});
    }
    case ProxyOrder::Kind::Internal:
      ::send(order->client.get(), order->granted.data(), order->granted.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return sandbox_.internal_page().serve(std::move(order->client), std::move(order->bytes));
  }
}

}  // namespace cove::net
