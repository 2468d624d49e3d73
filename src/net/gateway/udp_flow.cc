#include "net/gateway/udp_flow.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "net/gateway/socket_address.h"

namespace cove::net {
namespace {

constexpr int kPerTurn = 32;  // datagrams that are taken before others have their turn

}  // namespace

UdpFlow::UdpFlow(SandboxContext& context, Resolver& resolver, Owner& owner, Endpoint source, Endpoint wanted,
                 Target target, const Verdict& verdict)
    : context_(context),
      resolver_(resolver),
      owner_(owner),
      source_(source),
      wanted_(wanted),
      target_(std::move(target)),
      verdict_(verdict) {
  // Not at once: the owner does not have it yet.
  timer_ = context_.loop().after(std::chrono::milliseconds(0), [this] { begin(); });
}

UdpFlow::~UdpFlow() {
  context_.loop().cancel(timer_);
  if (lookup_ != 0) resolver_.cancel(lookup_);
  if (!fd_) return;
  context_.loop().remove(fd_.get());
  log(NetworkEntry::Stage::Closed);
}

void UdpFlow::send(std::string payload) {
  last_used_ = Loop::Clock::now();
  if (!fd_) {
    if (waiting_.size() < kMostWaiting) waiting_.push_back(std::move(payload));
    return;
  }
  if (context_.over_budget()) return;
  ssize_t sent = ::send(fd_.get(), payload.data(), payload.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno == ECONNREFUSED) owner_.refuse(*this);  // an earlier one was
  if (sent < 0) return;                                         // lost, as on any way
  out_bytes_ += static_cast<uint64_t>(sent);
  context_.count(0, static_cast<uint64_t>(sent));
}

bool UdpFlow::is_still_allowed() const {
  if (context_.decide(target_).decision != Decision::Allow) return false;
  return !fd_ || context_.check_resolved(target_, *target_.address).decision != Decision::Deny;
}

void UdpFlow::begin() {
  timer_ = 0;
  if (target_.name.empty())
    return settle({.outcome = Resolution::Outcome::Found, .addresses = {wanted_.address}, .why = {}});
  lookup_ = resolver_.resolve(&context_, target_.name, [this](const Resolution& resolution) {
    lookup_ = 0;
    // Not from within the resolver's call.
    timer_ = context_.loop().after(std::chrono::milliseconds(0), [this, resolution] { settle(resolution); });
  });
}

void UdpFlow::settle(const Resolution& resolution) {
  timer_ = 0;
  if (resolution.outcome != Resolution::Outcome::Found || !connect_to_one(resolution.addresses)) {
    owner_.refuse(*this);
    return owner_.over(*this);
  }
  number_ = context_.next_connection();
  log(NetworkEntry::Stage::Opened);
  for (auto& payload : std::exchange(waiting_, {})) send(std::move(payload));
}

// The first that the policy lets through and that there is a route to. If there is none because of the policy, that is
// logged.
bool UdpFlow::connect_to_one(const std::vector<Address>& addresses) {
  std::optional<Verdict> denied;
  for (const auto& address : addresses) {
    Verdict verdict = context_.check_resolved(target_, address);
    if (verdict.decision == Decision::Deny) {
      if (!denied) denied = std::move(verdict);
      continue;
    }
    if (connect_to(address)) return true;
  }
  if (denied) context_.log_denial(target_, *denied);
  return false;
}

bool UdpFlow::connect_to(const Address& address) {
  const SocketAddress to(address, wanted_.port);
  UniqueFd fd(::socket(to.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), to.get(), to.size()) < 0) return false;
  if (!context_.loop().add(fd.get(), EPOLLIN, [this](uint32_t) { read(); })) return false;
  fd_ = std::move(fd);
  target_.address = address;
  return true;
}

void UdpFlow::read() {
  for (int i = 0; i < kPerTurn; ++i)
    if (!read_one()) return;
}

bool UdpFlow::read_one() {
  std::array<char, 65536> buffer;
  ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (size < 0) {
    bool is_refused = errno == ECONNREFUSED;
    if (is_refused) owner_.refuse(*this);
    return is_refused;
  }
  last_used_ = Loop::Clock::now();
  if (context_.over_budget()) return true;
  in_bytes_ += static_cast<uint64_t>(size);
  context_.count(static_cast<uint64_t>(size), 0);
  owner_.receive(*this, {buffer.data(), static_cast<size_t>(size)});
  return true;
}

void UdpFlow::log(NetworkEntry::Stage stage) {
  NetworkEntry entry;
  entry.connection = number_;
  entry.stage = stage;
  entry.protocol = Protocol::Udp;
  entry.host = target_.name.empty() ? to_text(wanted_.address) : target_.name;
  entry.address = to_text(*target_.address);
  entry.port = wanted_.port;
  entry.allowed = true;
  entry.rule = verdict_.rule;
  entry.layer = verdict_.layer;
  entry.in_bytes = in_bytes_;
  entry.out_bytes = out_bytes_;
  context_.log(std::move(entry));
}

}  // namespace cove::net
