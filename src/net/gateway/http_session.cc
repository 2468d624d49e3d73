#include "net/gateway/http_session.h"

#include "base/text.h"
#include "net/gateway/relay.h"
#include "net/gateway/sandbox_network.h"
#include "net/sockets.h"
#include "sys/socket.h"

namespace cove::net {

void HttpSession::start(SandboxNetwork& sandbox, HttpFlow::Order order, Upstream upstream) {
  auto session = std::make_unique<HttpSession>(sandbox, std::move(upstream));
  HttpSession& it = *session;
  sandbox.add(std::move(session));
  it.http_ = HttpFlow::start(sandbox.loop(), it, std::move(order));
}

HttpSession::HttpSession(SandboxNetwork& sandbox, Upstream upstream)
    : Flow(sandbox), upstream_(std::move(upstream)), self_(std::make_shared<HttpSession*>(this)) {
  if (upstream_.log) take_log(*upstream_.log);
  if (upstream_.fd) address_ = upstream_.target.address;
}

HttpSession::~HttpSession() {
  *self_ = nullptr;
  log_closed();
}

void HttpSession::policy_changed() {
  if (!http_) return;
  Target target = http_->target();
  if (target.name.empty() && !target.address) return;
  Verdict verdict = sandbox_.decide(target);
  const std::optional<Address> address = target.address ? target.address : address_;
  if (verdict.decision != Decision::Deny && address) verdict = sandbox_.check_resolved(target, *address);
  if (verdict.decision == Decision::Deny) cut(verdict);
}

void HttpSession::cut(const Verdict& reason) {
  if (!http_) return;
  log_denied(http_->target(), reason);
  http_.reset();
  finish();
}

Verdict HttpSession::decide(const Target& target) {
  Verdict verdict = sandbox_.decide(target);
  if (sandbox_.over_byte_budget()) verdict = sandbox_.budget_denial();
  if (verdict.decision == Decision::Deny) {
    sandbox_.log_denial(target, verdict);
    upstream_.fd.reset();
  } else {
    NetworkEntry entry = entry_of(NetworkEntry::Stage::Request, target, verdict);
    entry.connection = number();
    sandbox_.log(std::move(entry));
  }
  return verdict;
}

void HttpSession::failed(const Target& target, const Verdict& verdict) { sandbox_.log_denial(target, verdict); }

void HttpSession::connect(const Target& target, std::function<void(Result<UniqueFd>)> connected) {
  if (UniqueFd fd; target.name == kInternalName || take_upstream(target, fd)) {
    auto shared = std::make_shared<Result<UniqueFd>>(fd ? Result<UniqueFd>(std::move(fd)) : connect_internal());
    return sandbox_.loop().later([self = self_, shared, connected = std::move(connected)] {
      if (*self && (*self)->http_) connected(std::move(*shared));
    });
  }
  connect_anew(target, std::move(connected));
}

void HttpSession::connect_anew(const Target& target, std::function<void(Result<UniqueFd>)> connected) {
  address_.reset();
  uint64_t number = ++last_connect_;
  auto done = [this, number, target,
               connected = std::move(connected)](std::expected<Connected, ConnectFailure> result) {
    auto keep = std::move(connectors_[number]);  // it is what calls
    connectors_.erase(number);
    sandbox_.loop().later([held = std::shared_ptr<Connector>(std::move(keep))] {});
    auto fd = finish_connect(target, std::move(result));
    if (http_) connected(std::move(fd));
  };
  connectors_[number] = Connector::start(sandbox_, sandbox_.services().resolver, target, std::move(done));
}

Result<UniqueFd> HttpSession::finish_connect(Target target, std::expected<Connected, ConnectFailure> result) {
  if (!result) {
    ConnectFailure& failure = result.error();
    if (failure.denied) {
      sandbox_.log_denial(target, *failure.denied);
      return fail(Error(Code::Denied, failure.denied->why));
    }
    return fail(std::move(failure.error));
  }
  reset_on_close(result->fd.get());
  target.address = result->address;
  if (sandbox_.over_budget()) {
    sandbox_.log_denial(target, sandbox_.budget_denial());
    return fail(Error(Code::Denied, sandbox_.budget_denial().why));
  }
  if (opened()) sandbox_.count_connection();
  address_ = target.address;
  log_opened(target, sandbox_.decide(target));
  return std::move(result->fd);
}

bool HttpSession::take_upstream(const Target& target, UniqueFd& fd) {
  if (!upstream_.fd || target.name != upstream_.target.name || target.port != upstream_.target.port) return false;
  fd = std::move(upstream_.fd);
  return true;
}

Result<UniqueFd> HttpSession::connect_internal() {
  auto pair = COVE_TRY(sys::socketpair(SOCK_STREAM | SOCK_NONBLOCK));
  sandbox_.internal_page().serve(std::move(pair.first), "");
  return std::move(pair.second);
}

const EffectivePolicy& HttpSession::policy() const { return sandbox_.policy(); }
GatewayTls& HttpSession::tls() { return sandbox_.services().tls; }
bool HttpSession::over_budget() const { return sandbox_.over_byte_budget(); }

void HttpSession::closed() { finish(); }

}  // namespace cove::net
