#include "net/gateway/sandbox_network.h"

#include "base/text.h"
#include "net/gateway/hello_verdict.h"
#include "net/gateway/proxy_session.h"
#include "net/gateway/tcp_flow.h"

namespace cove::net {
namespace {

constexpr uint16_t kDnsPort = 53, kPagePort = 80, kHttpProxyPort = 3128, kSocksPort = 1080;

bool is_gateway(const Address& address) {
  static const Address kAddresses[] = {parse_address(kGatewayAddress4).value(),
                                       parse_address(kGatewayAddress6).value()};
  return address == kAddresses[0] || address == kAddresses[1];
}

bool is_loopback(const Address& address) {
  static const Address kLoopback6 = parse_address("::1").value();
  return address == kLoopback6 || (address.is_v4() && address.bytes[12] == 127);
}

}  // namespace

SandboxNetwork::SandboxNetwork(Services& services, std::string id)
    : services_(services),
      id_(std::move(id)),
      self_(std::make_shared<SandboxNetwork*>(this)),
      dns_(DnsServer::create(*this, services.resolver)),
      internal_page_(InternalPage::create(*this)) {}

SandboxNetwork::~SandboxNetwork() {
  *self_ = nullptr;
  acceptor_.reset();
  flows_.clear();
  ended_.clear();
}

void SandboxNetwork::attach(NetworkSockets sockets) {
  acceptor_.reset();
  udp_.reset();
  sockets_ = std::move(sockets);
  if (has_policy_) begin_serving();
}

void SandboxNetwork::begin_serving() {
  if (acceptor_ || !sockets_.fds[NetworkSockets::kTcp4]) return;
  if (auto udp = UdpRelay::start(*this, services_.resolver, *dns_, sockets_)) udp_ = std::move(*udp);
  acceptor_.emplace(services_.loop, sockets_, services_.descriptors,
                    Acceptor::Calls{.connection = [this](UniqueFd client,
                                                         const Wanted& wanted) { accepted(std::move(client), wanted); },
                                    .exhausted = [this] { return drop_undecided(); }});
}

void SandboxNetwork::accepted(UniqueFd client, const Wanted& wanted) {
  if (flows_.size() >= services_.settings.connections && !drop_undecided()) return refuse_too_many(wanted);
  bool of_gateway = is_gateway(wanted.address) || is_loopback(wanted.address);
  if (of_gateway) return serve_gateway_address(std::move(client), wanted);
  Target target;
  target.port = wanted.port;
  target.name = names_.name_of(wanted.address);
  if (target.name == kInternalName && wanted.port == kPagePort) return internal_page_->serve(std::move(client), "");
  if (target.name.empty() && !is_synthetic(wanted.address)) target.address = wanted.address;
  if (wanted.port == kDnsPort && target.name.empty()) return dns_->serve(std::move(client));
  TcpFlow::start(*this, {.client = std::move(client), .target = std::move(target)});
}

// Other ports there: a reset.
void SandboxNetwork::serve_gateway_address(UniqueFd client, const Wanted& wanted) {
  const uint16_t port = wanted.port;
  if (port == kDnsPort) return dns_->serve(std::move(client));
  if (port == kPagePort) return internal_page_->serve(std::move(client), "");
  if (port == kHttpProxyPort) return ProxySession::start(*this, ProxyHandshake::Protocol::Http, std::move(client));
  if (port == kSocksPort) return ProxySession::start(*this, ProxyHandshake::Protocol::Socks, std::move(client));
  Target target{.address = wanted.address, .port = port};
  log_denial(target,
             denial("protocol", concat(describe(target), " is the gateway, which serves DNS, proxies and http://",
                                       kInternalName, "/ only")));
}

void SandboxNetwork::refuse_too_many(const Wanted& wanted) {
  Target target;
  target.port = wanted.port;
  target.name = names_.name_of(wanted.address);
  target.address = wanted.address;
  log_denial(target, denial("too_many", concat("more than ", services_.settings.connections,
                                               " connections of this sandbox are open")));
}

void SandboxNetwork::add(std::unique_ptr<Flow> flow) {
  uint64_t number = flow->number();
  flows_.emplace(number, std::move(flow));
}

void SandboxNetwork::end(Flow& flow) {
  auto found = flows_.find(flow.number());
  if (found == flows_.end()) return;
  ended_.push_back(std::move(found->second));
  flows_.erase(found);
  if (ended_.size() > 1) return;
  services_.loop.later([self = self_] {
    if (*self) (*self)->destroy_ended();
  });
}

void SandboxNetwork::destroy_ended() {
  std::vector<std::unique_ptr<Flow>> ended;
  ended.swap(ended_);
}

bool SandboxNetwork::drop_undecided() {
  for (auto& [number, flow] : flows_) {
    if (!flow->undecided()) continue;
    flow->cut(denial("too_many", "too many connections are open"));
    destroy_ended();
    return true;
  }
  return false;
}

}  // namespace cove::net
