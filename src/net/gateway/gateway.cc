#include "net/gateway/gateway.h"

#include <sys/epoll.h>
#include <sys/resource.h>

#include "base/text.h"
#include "sys/file.h"

namespace cove::net {
namespace {

constexpr int kMessagesPerTurn = 64;
constexpr size_t kLargestPolicy = 64 << 20;
constexpr const char* kResolvConf = "/etc/resolv.conf";

Result<uint64_t> raise_descriptors() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0) return fail_errno("getrlimit");
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) < 0) return fail_errno("setrlimit");
  return limit.rlim_max;
}

// What is too large for a message comes as a file in memory.
Result<std::string> content(const sys::Message& message) {
  if (message.fds.size() != 1) return fail(Code::Invalid, "a message without its descriptor");
  if (::lseek(message.fds[0].get(), 0, SEEK_SET) < 0) return fail_errno("lseek");
  return sys::read_all(message.fds[0].get(), kLargestPolicy);
}

std::unexpected<Error> malformed(const char* what) { return fail(Code::Invalid, concat("malformed message: ", what)); }

}  // namespace

Result<GatewayServer::Parts> GatewayServer::open_parts() {
  auto loop = COVE_TRY(Loop::create());
  auto resolver = COVE_TRY(Resolver::create(*loop));
  auto text = sys::read_file(kResolvConf, 1 << 20);
  return Parts{.loop = std::move(loop),
               .resolver = std::move(resolver),
               .tls = COVE_TRY(GatewayTls::create()),
               .own_addresses = COVE_TRY(OwnAddresses::open()),
               .hellos = COVE_TRY(HelloParser::create()),
               .resolvers = servers_of_resolv_conf(text ? *text : ""),
               .descriptors = COVE_TRY(raise_descriptors())};
}

GatewayServer::GatewayServer(Parts parts, UniqueFd channel)
    : parts_(std::move(parts)),
      channel_(std::move(channel)),
      outbox_(channel_.get(), [this] { watch_channel(); }),
      services_{.loop = *parts_.loop,
                .resolver = *parts_.resolver,
                .tls = *parts_.tls,
                .own_addresses = parts_.own_addresses,
                .hellos = parts_.hellos,
                .pipes = pipes_,
                .outbox = outbox_,
                .descriptors = parts_.descriptors} {}

GatewayServer::~GatewayServer() {
  sandboxes_.clear();
  parts_.loop->remove(channel_.get());
}

Result<void> GatewayServer::run() {
  COVE_TRY(parts_.resolver->use_servers(parts_.resolvers));
  COVE_TRY(parts_.loop->add(channel_.get(), EPOLLIN, [this](uint32_t events) { on_channel(events); }));
  parts_.loop->run();
  return std::move(outcome_);
}

void GatewayServer::watch_channel() {
  parts_.loop->change(channel_.get(), EPOLLIN | (outbox_.waiting() ? uint32_t{EPOLLOUT} : 0));
}

void GatewayServer::on_channel(uint32_t events) {
  if (events & EPOLLOUT) outbox_.flush();
  if (!(events & ~uint32_t{EPOLLOUT})) return;
  for (int i = 0; i < kMessagesPerTurn; ++i) {
    auto message = sys::receive_message(channel_.get(), wire::kMaxMessage, MSG_DONTWAIT);
    if (!message && (message.error().errnum() == EAGAIN || message.error().errnum() == EINTR)) return;
    if (!message) outcome_ = std::unexpected(std::move(message).error());
    if (!message || message->data.empty()) return parts_.loop->stop();
    outcome_ = take(std::move(*message));
    if (!outcome_) return parts_.loop->stop();
  }
}

Result<void> GatewayServer::take(sys::Message message) {
  wire::Reader in(message.data);
  switch (in.type<ToGateway>()) {
    case ToGateway::Settings:
      return take_settings(in, message);
    case ToGateway::Attach:
      return take_attach(in, message);
    case ToGateway::Policy:
      return take_policy(in, message);
    case ToGateway::Detach:
      return take_detach(in);
    case ToGateway::Sync:
      return take_sync(in);
  }
  return malformed("unknown type");
}

Result<void> GatewayServer::take_settings(wire::Reader& in, const sys::Message& message) {
  std::string text = message.fds.empty() ? std::string(in.rest()) : COVE_TRY(content(message));
  wire::Reader settings(text);
  services_.settings = COVE_TRY(decode_settings(settings));
  const auto& resolvers = services_.settings.resolvers;
  COVE_TRY(parts_.resolver->use_servers(resolvers.empty() ? parts_.resolvers : resolvers));
  if (!services_.settings.upstream_ca.empty()) COVE_TRY(parts_.tls->trust(services_.settings.upstream_ca));
  return {};
}

Result<void> GatewayServer::take_attach(wire::Reader& in, sys::Message& message) {
  std::string id = in.text();
  uint64_t steering = in.number(), present = in.number();
  if (!in.done() || id.empty() || steering > 1) return malformed("Attach");
  NetworkSockets sockets;
  sockets.steering = static_cast<Steering>(steering);
  size_t next = 0;
  for (size_t i = 0; i < NetworkSockets::kCount; ++i) {
    if (!(present >> i & 1)) continue;
    if (next == message.fds.size()) return malformed("Attach without its descriptors");
    sockets.fds[i] = std::move(message.fds[next++]);
  }
  sandbox(id).attach(std::move(sockets));
  return {};
}

// A policy that cannot be read denies everything.
Result<void> GatewayServer::take_policy(wire::Reader& in, const sys::Message& message) {
  std::string id = in.text();
  if (!in.done() || id.empty()) return malformed("Policy");
  std::string text = COVE_TRY(content(message));
  wire::Reader reader(text);
  auto policy = decode_policy(reader);
  (void)sandbox(id).set_policy(policy ? std::move(*policy) : EffectivePolicy());
  return {};
}

Result<void> GatewayServer::take_detach(wire::Reader& in) {
  std::string id = in.text();
  if (!in.done()) return malformed("Detach");
  sandboxes_.erase(id);
  return {};
}

Result<void> GatewayServer::take_sync(wire::Reader& in) {
  uint64_t token = in.number();
  std::string id = in.text();
  if (!in.done()) return malformed("Sync");
  wire::Writer answer(FromGateway::Synced);
  answer.number(token);
  auto found = sandboxes_.find(id);
  if (found == sandboxes_.end()) {
    answer.number(0).number(0).number(0).number(0);
  } else {
    SandboxNetwork& network = *found->second;
    network.forget_logged();
    answer.number(network.in_bytes()).number(network.out_bytes());
    answer.number(network.connections()).number(network.dropped_entries());
  }
  outbox_.send_answer(answer.data());
  return {};
}

SandboxNetwork& GatewayServer::sandbox(const std::string& id) {
  auto& network = sandboxes_[id];
  if (!network) network = std::make_unique<SandboxNetwork>(services_, id);
  return *network;
}

}  // namespace cove::net
