#include "net/gateway/tcp_flow.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/text.h"
#include "net/gateway/http_session.h"
#include "net/gateway/sandbox_network.h"

namespace cove::net {
namespace {

using namespace std::chrono_literals;

// For the first bytes to be complete once some of them are there.
constexpr auto kPatience = 10s;
// For a line that could become a request.
constexpr auto kPatienceForLine = 300ms;
// For the first bytes where only they can tell what is allowed, or how to refuse.
constexpr auto kPatienceForName = 3s;
constexpr auto kPatienceForRefusal = 500ms;
constexpr auto kPatienceForRequest = 30s;
// For the program to read why it was refused.
constexpr auto kPatienceForAnswer = 2s;
constexpr size_t kReadSize = 16 * 1024;

Judgement first_judgement(SandboxNetwork& sandbox, Target target) {
  Verdict verdict = denial("needs_name", "this address belongs to no name: look the name up again");
  if (!target.name.empty() || target.address) verdict = sandbox.decide(target);
  if (verdict.decision != Decision::Deny && sandbox.over_budget()) verdict = sandbox.budget_denial();
  return {std::move(target), std::move(verdict)};
}

}  // namespace

void TcpFlow::start(SandboxNetwork& sandbox, Order order) {
  std::string first_bytes = std::move(order.first_bytes);
  auto flow = std::make_unique<TcpFlow>(sandbox, std::move(order));
  TcpFlow& it = *flow;
  sandbox.add(std::move(flow));
  it.begin(std::move(first_bytes));
}

TcpFlow::TcpFlow(SandboxNetwork& sandbox, Order order)
    : Flow(sandbox),
      client_fd_(order.client.get()),
      client_(std::move(order.client)),
      target_(std::move(order.target)),
      opening_(sandbox.services().hellos),
      answers_(std::move(order.answers)) {}

TcpFlow::~TcpFlow() {
  sandbox_.loop().cancel(timer_);
  if (client_ || relay_) sandbox_.loop().remove(client_fd_);
  if (upstream_ || relay_) sandbox_.loop().remove(upstream_fd_);
  log_closed();
}

void TcpFlow::begin(std::string first_bytes) {
  auto [target, verdict] = first_judgement(sandbox_, std::move(target_));
  target_ = std::move(target);
  verdict_ = std::move(verdict);
  constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  if (!sandbox_.loop().add(client_fd_, kEvents, [this](uint32_t events) { on_client(events); })) return finish();
  switch (verdict_.decision) {
    case Decision::Allow:
      connect();
      break;
    case Decision::NeedsRequest:
      if (!grant()) return;
      set_timer(kPatienceForRequest);
      break;
    case Decision::Deny:
      set_timer(verdict_.code == "needs_name" ? std::chrono::milliseconds(kPatienceForName) : kPatienceForRefusal);
      break;
  }
  if (!first_bytes.empty()) look(opening_.add(first_bytes, Server::Silent));
}

void TcpFlow::set_timer(std::chrono::milliseconds time) {
  sandbox_.loop().cancel(timer_);
  timer_ = sandbox_.loop().after(time, [this] { on_timer(); });
}

void TcpFlow::on_timer() {
  timer_ = 0;
  if (over_) return;
  if (draining_) return over_ = true, finish();
  if (verdict_.decision == Decision::Deny) return cut(verdict_);
  if (verdict_.decision == Decision::Allow && opening_.reads_text()) return trickle();
  cut(denial("protocol",
             concat("the first bytes of the connection to ", describe(target_), " did not arrive in time")));
}

void TcpFlow::on_client(uint32_t events) {
  if (over_) return;
  if (relay_) relay_->on_inside(events);
  if (!(events & ~uint32_t{EPOLLOUT})) return;
  while (!over_ && !passed_ && !handing_over_ && read_first()) {
  }
}

// Whether there may be more.
bool TcpFlow::read_first() {
  char bytes[kReadSize];
  ssize_t size = ::recv(client_fd_, bytes, sizeof bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size < 0 || (size == 0 && (draining_ || answers_))) {
    over_ = true;
    finish();
    return false;
  }
  if (draining_) return true;
  client_ended_ = size == 0;
  Server server = relay_ && relay_->server_spoke() && !trickling_ ? Server::Spoke : Server::Silent;
  look(client_ended_ ? opening_.end() : opening_.add({bytes, static_cast<size_t>(size)}, server));
  return !client_ended_;
}

void TcpFlow::look(OpeningReader::State state) {
  using State = OpeningReader::State;
  switch (state) {
    case State::NeedsMore:
      return look_for_more();
    case State::Tls:
      return look_at_hello();
    case State::BrokenTls:
      return cut(
          denial("protocol", concat("what was sent to ", describe(target_), " begins like TLS but is not valid")));
    case State::Http:
      target_.protocol = Protocol::Http;
      if (verdict_.decision == Decision::Allow && sandbox_.passes_requests()) return pass();
      return hand_over(HttpFlow::Inside::Cleartext);
    case State::Http2:
      return cut(denial("protocol", "HTTP/2 without TLS cannot be read: use HTTP/1.1"));
    case State::Query:
      return look_at_query();
    case State::Other:
      return pass();
  }
}

void TcpFlow::look_for_more() {
  if (trickling_) return trickle();
  if (timer_ == 0) set_timer(opening_.reads_text() ? std::chrono::milliseconds(kPatienceForLine) : kPatience);
}

// PostgreSQL asks whether it may speak TLS; its ClientHello follows the answer.
void TcpFlow::look_at_query() {
  if (verdict_.decision != Decision::Allow) return cut(verdict_);
  query_ += opening_.take_query();
  if (connected() && !relay_)
    start_relay(Relay::Outbound::Held);
  else if (relay_)
    relay_->forward(std::exchange(query_, {}), Relay::Outbound::Held);
  if (!over_ && !opening_.bytes().empty()) look(opening_.add("", Server::Silent));
}

void TcpFlow::look_at_hello() {
  auto [target, verdict] = judge_hello(sandbox_, {target_, verdict_}, opening_.hello());
  target_ = std::move(target);
  verdict_ = std::move(verdict);
  if (verdict_.decision == Decision::Deny) return refuse_tls(verdict_);
  if (sandbox_.has_secret_for(target_.name, target_.port)) return hand_over(HttpFlow::Inside::Tls);
  pass();
}

// Requests are read one by one from here on. The connection outside goes with them, so that the server sees no other.
void TcpFlow::hand_over(HttpFlow::Inside inside) {
  if (relay_)
    return cut(denial("protocol", concat("a request to ", describe(target_), " came too slowly, or after an answer")));
  sandbox_.loop().cancel(std::exchange(timer_, 0));
  if (connector_)
    handing_over_ = inside;
  else
    hand_over_now(inside);
}

void TcpFlow::hand_over_now(HttpFlow::Inside inside) {
  sandbox_.loop().remove(client_fd_);
  if (upstream_) sandbox_.loop().remove(upstream_fd_);
  HttpFlow::Order order;
  order.inside = inside;
  order.client = std::move(client_);
  order.first_bytes = opening_.take_bytes();
  order.name = target_.name;
  order.port = target_.port;
  if (target_.name.empty()) order.address = target_.address;
  over_ = true;
  HttpSession::start(sandbox_, std::move(order), {std::move(upstream_), target_, this});
  finish();
}

void TcpFlow::pass() {
  if (verdict_.decision == Decision::NeedsRequest)
    return cut(denial("protocol", concat("the rules for ", describe(target_),
                                         " are about requests, and this is no HTTP that can be read")));
  if (verdict_.decision == Decision::Deny) return cut(verdict_);
  passed_ = true;
  sandbox_.loop().cancel(std::exchange(timer_, 0));
  if (relay_) return relay_->forward(take_first_bytes(), Relay::Outbound::Open);
  if (connected()) return start_relay(Relay::Outbound::Open);
  if (!connector_) connect();
}

void TcpFlow::policy_changed() {
  if (over_ || draining_) return;
  bool was_denied = verdict_.decision == Decision::Deny;
  if (target_.name.empty() && !target_.address) return;
  Verdict verdict = sandbox_.decide(target_);
  if (connected() && verdict.decision != Decision::Deny && target_.address)
    verdict = sandbox_.check_resolved(target_, *target_.address);
  if (verdict.decision == Decision::NeedsRequest && (passed_ || connected()))
    verdict = denial("protocol", concat("the rules for ", describe(target_), " are about requests now"));
  if (verdict.decision == Decision::Deny && !was_denied) return cut(verdict);
  verdict_ = verdict;
}

void TcpFlow::cut(const Verdict& reason) {
  if (over_) return;
  over_ = true;
  if (!draining_) log_denied(target_, reason);
  finish();
}

void TcpFlow::refuse_tls(const Verdict& verdict) {
  log_denied(target_, verdict);
  if (relay_) return over_ = true, finish();
  answer_and_finish(kAccessDenied);
}

// The program reads the answer before the connection ends: a reset would discard it.
void TcpFlow::answer_and_finish(std::string_view text) {
  draining_ = true;
  connector_.reset();
  if (upstream_) sandbox_.loop().remove(upstream_fd_);
  upstream_.reset();
  end_in_order(client_fd_);
  ::send(client_fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(client_fd_, SHUT_WR);
  set_timer(kPatienceForAnswer);
}

}  // namespace cove::net
