#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/text.h"
#include "net/gateway/sandbox_network.h"
#include "net/gateway/tcp_flow.h"

namespace cove::net {
namespace {

constexpr int kKeepAliveIdle = 120;

void prepare(int upstream) {
  constexpr int kOn = 1;
  reset_on_close(upstream);
  ::setsockopt(upstream, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  ::setsockopt(upstream, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
  ::setsockopt(upstream, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAliveIdle, sizeof kKeepAliveIdle);
}

}  // namespace

void TcpFlow::connect() {
  connector_ = Connector::start(sandbox_, sandbox_.services().resolver, target_,
                                [this](auto result) { connect_done(std::move(result)); });
}

void TcpFlow::connect_done(std::expected<Connected, ConnectFailure> result) {
  // It is what calls.
  sandbox_.loop().later([done = std::shared_ptr<Connector>(std::move(connector_))] {});
  if (over_) return;
  if (!result) return handing_over_ ? hand_over_now(*handing_over_) : connect_failed(result.error());
  upstream_ = std::move(result->fd);
  upstream_fd_ = upstream_.get();
  target_.address = result->address;
  if (sandbox_.over_budget()) return cut(sandbox_.budget_denial());
  log_opened(target_, verdict_);
  prepare(upstream_fd_);
  constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  if (!sandbox_.loop().add(upstream_fd_, kEvents, [this](uint32_t events) { on_upstream(events); }))
    return over_ = true, upstream_.reset(), finish();
  if (!grant()) return;
  if (handing_over_) return hand_over_now(*handing_over_);
  if (passed_) return start_relay(Relay::Outbound::Open);
  if (trickling_) return trickle();
  if (!query_.empty()) start_relay(Relay::Outbound::Held);
}

void TcpFlow::connect_failed(const ConnectFailure& failure) {
  std::string answer;
  if (failure.denied) {
    if (answers_) answer = answers_->denied;
    log_denied(target_, *failure.denied);
  } else {
    if (answers_) answer = answers_->unreachable;
    log_opened(target_, verdict_);
    log_closed(failure.error.message());
  }
  if (!answer.empty()) return answer_and_finish(answer);
  over_ = true;
  finish();
}

// Tells the program that uses an explicit proxy to go on. False where it is gone.
bool TcpFlow::grant() {
  if (!answers_) return true;
  std::string text = std::move(answers_->granted);
  answers_.reset();
  ssize_t sent = ::send(client_fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(text.size())) return true;
  over_ = true;
  finish();
  return false;
}

void TcpFlow::on_upstream(uint32_t events) {
  if (over_) return;
  if (relay_) return relay_->on_outside(events);
  // The server speaks first, or has gone.
  if (events & ~uint32_t{EPOLLOUT}) {
    start_relay(Relay::Outbound::Held);
    if (!over_) relay_->on_outside(events);
  }
}

void TcpFlow::start_relay(Relay::Outbound outbound) {
  Services& services = sandbox_.services();
  relay_ = std::make_unique<Relay>(services.loop, services.pipes, *this, std::move(client_), std::move(upstream_));
  std::string bytes = std::move(query_);
  query_.clear();
  if (outbound == Relay::Outbound::Open) bytes += take_first_bytes();
  relay_->forward(std::move(bytes), outbound);
}

// What cannot be told apart from the beginning of a request yet: the server gets it, but never the end of a line that
// makes it one.
void TcpFlow::trickle() {
  trickling_ = true;
  if (!connected()) return;
  if (!relay_) start_relay(Relay::Outbound::Held);
  if (over_) return;
  std::string more = opening_.bytes().substr(forwarded_);
  forwarded_ = opening_.bytes().size();
  relay_->forward(std::move(more), Relay::Outbound::Held);
}

std::string TcpFlow::take_first_bytes() { return opening_.take_bytes().substr(std::exchange(forwarded_, 0)); }

void TcpFlow::moved(uint64_t in_bytes, uint64_t out_bytes) { count_bytes(in_bytes, out_bytes); }

void TcpFlow::ended(Relay::End) {
  if (over_) return;
  over_ = true;
  finish();
}

}  // namespace cove::net
