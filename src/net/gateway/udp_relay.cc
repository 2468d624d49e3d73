#include "net/gateway/udp_relay.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "net/gateway/entry_limit.h"
#include "net/gateway/names.h"
#include "net/gateway/packet.h"
#include "net/gateway/socket_address.h"
#include "net/gateway/udp_flow.h"

namespace cove::net {
namespace {

constexpr int kPerTurn = 64;  // datagrams that are taken before other descriptors have their turn
constexpr uint16_t kDns = 53;
constexpr std::chrono::seconds kSweep{10};

struct Datagram {
  SocketAddress from;
  SocketAddress to;  // that the program inside sent it to; no family: unknown
  std::string payload;
};

// Where the datagram was sent to, as the kernel tells beside it.
void read_wanted(msghdr& message, SocketAddress& to) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    bool v4 = part->cmsg_level == SOL_IP && part->cmsg_type == IP_RECVORIGDSTADDR;
    bool v6 = part->cmsg_level == SOL_IPV6 && part->cmsg_type == IPV6_RECVORIGDSTADDR;
    size_t size = v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if ((v4 || v6) && part->cmsg_len >= CMSG_LEN(size)) std::memcpy(&to.storage(), CMSG_DATA(part), size);
  }
}

// Nothing where none is there.
std::optional<Datagram> read_datagram(int socket) {
  static thread_local std::array<char, 65536> buffer;
  alignas(cmsghdr) std::array<char, 256> control;
  Datagram datagram;
  iovec bytes = {buffer.data(), buffer.size()};
  msghdr message = {};
  message.msg_name = &datagram.from.storage();
  message.msg_namelen = sizeof(sockaddr_storage);
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = ::recvmsg(socket, &message, MSG_DONTWAIT);
  if (size < 0) return std::nullopt;
  read_wanted(message, datagram.to);
  datagram.payload.assign(buffer.data(), static_cast<size_t>(size));
  return datagram;
}

Verdict not_readable(const Target& target) {
  std::string host = target.name.empty() ? to_text(*target.address) : target.name;
  return {Decision::Deny, "", "", concat(host, " over UDP: its rules are about HTTP requests"), "protocol"};
}

Endpoint endpoint(const SocketAddress& address) { return {address.address(), address.port()}; }

class LiveUdpRelay : public UdpRelay, public UdpFlow::Owner {
 public:
  LiveUdpRelay(SandboxContext& context, Resolver& resolver, DnsServer& dns, const NetworkSockets& sockets)
      : context_(context),
        resolver_(resolver),
        dns_(dns),
        steering_(sockets.steering),
        raw4_(sockets.fds[NetworkSockets::kRaw4].get()),
        raw6_(sockets.fds[NetworkSockets::kRaw6].get()) {}
  ~LiveUdpRelay() override {
    *self_ = nullptr;
    context_.loop().cancel(sweep_);
    for (int socket : watched_) context_.loop().remove(socket);
  }

  Result<void> watch(int socket) {
    if (socket < 0) return {};
    COVE_TRY(context_.loop().add(socket, EPOLLIN, [this, socket](uint32_t) { read(socket); }));
    watched_.push_back(socket);
    return {};
  }

  void policy_changed() override {
    std::erase_if(flows_, [](auto& flow) { return !flow.second->is_still_allowed(); });
  }
  void forget_logged() override { entries_.forget_recent(); }

 private:
  // One socket inside and where it sends to.
  using Key = std::pair<Endpoint, Endpoint>;

  void read(int socket) {
    for (int i = 0; i < kPerTurn; ++i) {
      auto datagram = read_datagram(socket);
      // An error of an earlier answer is reported once, and cleared by that.
      if (!datagram && (errno == EAGAIN || errno == EBADF)) return;
      if (datagram) take(socket, std::move(*datagram));
    }
  }

  void take(int socket, Datagram datagram) {
    if (steering_ == Steering::Redirect) return answer_redirected(socket, datagram);
    if (datagram.to.family() != datagram.from.family()) return;
    Endpoint source = endpoint(datagram.from);
    Endpoint wanted = endpoint(datagram.to);
    if (wanted.port == kDns) return answer_dns(source, wanted, datagram.payload);
    relay(source, wanted, std::move(datagram.payload));
  }

  void answer_dns(const Endpoint& source, const Endpoint& server, std::string_view question) {
    dns_.ask(question, DnsServer::Transport::Udp, [self = self_, source, server](const std::string& reply) {
      if (*self) (*self)->send_raw(source.address, udp_packet(server, source, reply));
    });
  }

  // Only DNS is redirected; the kernel gives the answer the address that was asked.
  void answer_redirected(int socket, const Datagram& datagram) {
    auto reply_to = datagram.from;
    dns_.ask(datagram.payload, DnsServer::Transport::Udp, [self = self_, socket, reply_to](const std::string& reply) {
      if (*self) ::sendto(socket, reply.data(), reply.size(), MSG_DONTWAIT, reply_to.get(), reply_to.size());
    });
  }

  void relay(const Endpoint& source, const Endpoint& wanted, std::string payload) {
    auto found = flows_.find({source, wanted});
    if (found == flows_.end()) {
      Target target = target_of(wanted);
      Verdict verdict = decide(target);
      if (verdict.decision == Decision::Deny) {
        if (entries_.take(concat(to_text(wanted.address), " ", wanted.port))) context_.log_denial(target, verdict);
        return refuse(source, wanted, payload);
      }
      found = begin(source, wanted, std::move(target), verdict);
    }
    found->second->send(std::move(payload));
  }

  // A synthetic address is its name; one that no name has stays an address, and is refused as such.
  Target target_of(const Endpoint& wanted) {
    Target target = {.name = {}, .address = wanted.address, .port = wanted.port, .protocol = Protocol::Udp};
    target.name = context_.names().name_of(wanted.address);
    if (!target.name.empty()) target.address.reset();
    return target;
  }

  // An address that was named itself is also checked as one that a name was resolved to.
  Verdict decide(const Target& target) {
    Verdict verdict = context_.decide(target);
    if (verdict.decision == Decision::NeedsRequest) verdict = not_readable(target);
    if (verdict.decision == Decision::Deny || !target.address) return verdict;
    Verdict checked = context_.check_resolved(target, *target.address);
    return checked.decision == Decision::Deny ? checked : verdict;
  }

  std::map<Key, std::unique_ptr<UdpFlow>>::iterator begin(const Endpoint& source, const Endpoint& wanted, Target target,
                                                          const Verdict& verdict) {
    if (flows_.size() >= kMostFlows) end_longest_idle();
    if (sweep_ == 0) sweep_ = context_.loop().after(kSweep, [this] { sweep(); });
    auto flow = std::make_unique<UdpFlow>(context_, resolver_, *this, source, wanted, std::move(target), verdict);
    return flows_.emplace(Key(source, wanted), std::move(flow)).first;
  }

  void end_longest_idle() {
    auto by_use = [](auto& a, auto& b) { return a.second->last_used() < b.second->last_used(); };
    flows_.erase(std::min_element(flows_.begin(), flows_.end(), by_use));
  }

  void sweep() {
    auto limit = Loop::Clock::now() - kIdle;
    std::erase_if(flows_, [&](auto& flow) { return flow.second->last_used() < limit; });
    sweep_ = flows_.empty() ? 0 : context_.loop().after(kSweep, [this] { sweep(); });
  }

  void receive(const UdpFlow& flow, std::string_view payload) override {
    send_raw(flow.source().address, udp_packet(flow.wanted(), flow.source(), payload));
  }
  void refuse(const UdpFlow& flow) override { refuse(flow.source(), flow.wanted(), {}); }
  void over(UdpFlow& flow) override { flows_.erase({flow.source(), flow.wanted()}); }

  void refuse(const Endpoint& source, const Endpoint& wanted, std::string_view payload) {
    send_raw(source.address, port_unreachable_packet(source, wanted, payload));
  }

  void send_raw(const Address& to, const std::string& packet) {
    const SocketAddress address(to, 0);
    int socket = to.is_v4() ? raw4_ : raw6_;
    if (!packet.empty()) ::sendto(socket, packet.data(), packet.size(), MSG_DONTWAIT, address.get(), address.size());
  }

  SandboxContext& context_;
  Resolver& resolver_;
  DnsServer& dns_;
  Steering steering_;
  int raw4_;
  int raw6_;
  std::vector<int> watched_;
  EntryLimit entries_;
  uint64_t sweep_ = 0;
  std::map<Key, std::unique_ptr<UdpFlow>> flows_;
  // Answers to DNS may come when this is gone.
  std::shared_ptr<LiveUdpRelay*> self_ = std::make_shared<LiveUdpRelay*>(this);
};

}  // namespace

Result<std::unique_ptr<UdpRelay>> UdpRelay::start(SandboxContext& context, Resolver& resolver, DnsServer& dns,
                                                  const NetworkSockets& sockets) {
  auto relay = std::make_unique<LiveUdpRelay>(context, resolver, dns, sockets);
  for (auto index : {NetworkSockets::kUdp4, NetworkSockets::kUdp6}) COVE_TRY(relay->watch(sockets.fds[index].get()));
  return relay;
}

}  // namespace cove::net
