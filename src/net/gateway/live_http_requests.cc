#include <openssl/crypto.h>

#include "base/text.h"
#include "net/gateway/live_http_flow.h"

namespace cove::net {
namespace {

bool same_server(const Target& a, const Target& b) {
  return a.name == b.name && a.address == b.address && a.port == b.port;
}

}  // namespace

// --- a request -------------------------------------------------------------------------------------------------------

bool LiveHttpFlow::step_head() {
  if (client_->broken() && !client_->stream().is_ready()) return end_handshake(client_->stream().why_broken()), true;
  if (client_->broken()) return end(Ending::Reset), true;
  if (leave_idle_server()) return true;
  std::string_view input = client_->input();
  if (input.empty()) {
    if (client_->ended()) close(Ending::Orderly);
    return client_->ended();
  }
  if (!head_begun_) target_ = {};
  head_begun_ = true;
  const size_t before = input.size();
  auto whole = request_head_->feed(input);
  client_->use(before - input.size());
  if (!whole)
    refuse_malformed(whole.error());
  else if (*whole)
    begin_request();
  return true;
}

// A server that ends an idle connection, or says something unasked. The client is shown that, unless it takes us for a
// proxy.
bool LiveHttpFlow::leave_idle_server() {
  if (!server_ || (server_->open() && server_->input().empty())) return false;
  drop_server(Ending::Orderly);
  const bool idle = client_->input().empty() && !head_begun_;
  if (inside_ != Inside::Proxy && idle) close(Ending::Orderly);
  return true;
}

void LiveHttpFlow::begin_request() {
  auto request = parse_request(*request_head_, inside_ == Inside::Proxy ? TargetForm::Absolute : TargetForm::Origin);
  request_head_.emplace(kMostHead);
  head_begun_ = false;
  if (!request) return refuse_malformed(request.error());
  request_ = std::move(*request);
  target_ = target_of(request_);
  if (!agrees(request_)) return refuse_misdirected();
  const Verdict verdict = decide();
  if (verdict.decision != Decision::Allow) return refuse_denied(verdict);
  if (server_ && same_server(server_target_, target_))
    begin_exchange();
  else
    connect();
}

Target LiveHttpFlow::target_of(HttpRequest& request) const {
  Target target;
  target.protocol = Protocol::Http;
  target.method = request.method;
  target.path = request.path;
  target.port = port_;
  if (inside_ == Inside::Proxy) {
    target.name = request.requested->name;
    target.address = request.requested->address;
    target.port = request.requested->port.value_or(80);
  } else if (name_.empty()) {
    target.address = address_;
  } else {
    target.name = name_;
  }
  if (!request.requested) request.host = host_text();
  return target;
}

// Whether the request names whom the connection is for.
bool LiveHttpFlow::agrees(const HttpRequest& request) const {
  if (inside_ == Inside::Proxy || !request.requested) return true;
  const RequestedHost& requested = *request.requested;
  if (requested.port && *requested.port != port_) return false;
  if (!name_.empty()) return requested.name == name_;
  return !requested.address || requested.address == address_;
}

// A connection to an address alone may name a host that is blocked.
Verdict LiveHttpFlow::decide() {
  const std::string host = request_.requested ? request_.requested->name : "";
  if (target_.name.empty() && !host.empty()) {
    Target named = target_;
    named.name = host;
    Verdict verdict = context_.decide(named);
    if (verdict.decision != Decision::Allow) return verdict;
  }
  return context_.decide(target_);
}

// --- the exchange ----------------------------------------------------------------------------------------------------

void LiveHttpFlow::begin_exchange() {
  HttpExchange::Order order;
  order.forms = forms();
  order.readable = inside_ == Inside::Tls;
  order.ends_together = inside_ != Inside::Proxy;
  state_ = State::Exchange;
  exchange_.emplace(std::move(request_), std::move(order));
  std::string head = exchange_->head(secrets_for_target());
  server_->send(head);
  OPENSSL_cleanse(head.data(), head.size());
}

std::vector<const BrokeredSecret*> LiveHttpFlow::secrets_for_target() const {
  std::vector<const BrokeredSecret*> secrets;
  if (inside_ != Inside::Tls) return secrets;
  for (const BrokeredSecret& secret : context_.policy().secrets)
    if (is_for(secret, target_.name, target_.port)) secrets.push_back(&secret);
  return secrets;
}

std::shared_ptr<const SecretForms> LiveHttpFlow::forms() {
  const EffectivePolicy& policy = context_.policy();
  if (policy.secrets.empty()) return nullptr;
  if (!forms_ || forms_version_ != policy.version) forms_ = std::make_shared<SecretForms>(policy.secrets);
  forms_version_ = policy.version;
  return forms_;
}

bool LiveHttpFlow::step_exchange() {
  if (client_->broken()) return end(Ending::Reset), true;
  bool moved = pass_request();
  if (state_ == State::Exchange) moved = pass_answer() || moved;
  if (state_ != State::Exchange || over_) return true;
  if (exchange_->is_upgraded()) return begin_tunnel(), true;
  if (exchange_->is_answer_done()) return finish_exchange(), true;
  if (!server_->open() && server_->input().empty()) return lose_server(), true;
  return moved;
}

bool LiveHttpFlow::pass_request() {
  if (exchange_->is_request_done()) {
    const bool ends = client_->ended() && client_->input().empty() && !server_->closing();
    if (ends) server_->shut();
    return ends;
  }
  std::string_view input = client_->input();
  if (input.empty() && client_->ended()) return end(Ending::Reset), true;
  if (input.empty() || !server_->has_room()) return false;
  const size_t before = input.size();
  auto taken = exchange_->take_request(input, server_->output());
  client_->use(before - input.size());
  if (taken) return true;
  if (exchange_->is_answer_promised())
    end(Ending::Reset);
  else
    refuse_malformed(taken.error());
  return true;
}

bool LiveHttpFlow::pass_answer() {
  std::string_view input = server_->input();
  if (input.empty() || !client_->has_room()) return false;
  const size_t before = input.size();
  auto taken = exchange_->take_answer(input, client_->output());
  server_->use(before - input.size());
  if (!taken) exchange_->is_answer_promised() ? close(Ending::Reset) : bad_gateway(taken.error().reason);
  return !taken || input.size() < before;
}

void LiveHttpFlow::finish_exchange() {
  const bool keeps_client = exchange_->keeps_client();
  const bool keeps_server =
      exchange_->keeps_server() && server_->open() && server_->input().empty() && !server_->closing();
  exchange_.reset();
  if (!keeps_server) drop_server(Ending::Orderly);
  reused_ = true;
  if (!keeps_client) return close(Ending::Orderly);
  state_ = State::Head;
}

// The server has gone before its answer was whole, or that was its end.
void LiveHttpFlow::lose_server() {
  if (exchange_->end_answer(client_->output())) {
    const bool clean = server_->ended() && server_->stream().ended_cleanly();
    drop_server(Ending::Orderly);
    return close(clean ? Ending::Orderly : Ending::Unannounced);
  }
  if (exchange_->is_answer_promised()) return close(Ending::Reset);
  // A server may end an idle connection at any time: clients try again when they see that.
  if (reused_ && !exchange_->is_answer_begun()) return close(Ending::Unannounced);
  const std::string why = server_->broken() ? server_->stream().why_broken() : "it closed the connection unanswered";
  bad_gateway(why);
}

// --- after an upgrade ------------------------------------------------------------------------------------------------

void LiveHttpFlow::begin_tunnel() {
  state_ = State::Tunnel;
  exchange_.reset();
  scrubber_.reset();
  if (auto secret_forms = forms(); secret_forms && !secret_forms->empty()) scrubber_.emplace(secret_forms);
}

bool LiveHttpFlow::step_tunnel() {
  if (client_->broken() || server_->broken()) return end(Ending::Reset), true;
  const bool moved = pass_up();
  return pass_down() || moved;
}

bool LiveHttpFlow::pass_up() {
  const bool moves = !client_->input().empty() && server_->has_room();
  if (moves) {
    server_->send(client_->input());
    client_->use(client_->input().size());
  }
  if (client_->ended() && client_->input().empty()) server_->shut();
  return moves;
}

bool LiveHttpFlow::pass_down() {
  const bool moves = !server_->input().empty() && client_->has_room();
  if (moves) {
    scrubber_ ? scrubber_->feed(server_->input(), client_->output()) : client_->send(server_->input());
    server_->use(server_->input().size());
  }
  if (server_->ended() && server_->input().empty()) {
    if (scrubber_) scrubber_->finish(client_->output());
    client_->shut();
  }
  if (client_->is_shut() && server_->is_shut()) end(Ending::Orderly);
  return moves;
}

}  // namespace cove::net
