#include "base/text.h"
#include "net/gateway/live_http_flow.h"

namespace cove::net {
namespace {

constexpr uint64_t kMostDiscarded = 1024 * 1024;  // of the body of a refused request

std::string in_brackets(const Address& address) {
  return address.is_v4() ? to_text(address) : concat("[", to_text(address), "]");
}

std::string host_and_port(const Target& target) {
  return concat(target.name.empty() && target.address ? in_brackets(*target.address) : target.name, ":", target.port);
}

}  // namespace

// Of the server that the connection was made to, as in Host.
std::string LiveHttpFlow::host_text() const {
  const bool usual = port_ == (inside_ == Inside::Tls ? 443 : 80);
  const std::string host = !name_.empty() ? name_ : address_ ? in_brackets(*address_) : "";
  return usual ? host : concat(host, ":", port_);
}

void LiveHttpFlow::refuse_denied(const Verdict& verdict) {
  const bool drains = request_.keeps_alive && !request_.expects_continue &&
                      (request_.framing.chunked() || request_.framing.length <= kMostDiscarded);
  client_->send(denial_answer(verdict, target_, drains ? AfterAnswer::Kept : AfterAnswer::Closed));
  if (!drains) return close(Ending::Orderly);
  state_ = State::Refusing;
  discarded_ = 0;
  refused_body_.emplace(request_.framing, HttpBody::Chunks::Dropped, http1::Padding::Refused, std::nullopt);
}

bool LiveHttpFlow::step_refusing() {
  if (client_->broken()) return end(Ending::Reset), true;
  std::string_view input = client_->input();
  const size_t before = input.size();
  std::string dropped;
  auto fed = refused_body_->feed(input, dropped);
  client_->use(before - input.size());
  discarded_ += before - input.size();
  if (!fed || discarded_ > kMostDiscarded) return close(Ending::Orderly), true;
  if (refused_body_->done()) {
    state_ = State::Head;
    return true;
  }
  if (client_->ended() && client_->input().empty()) return close(Ending::Orderly), true;
  return input.size() < before;
}

// The last answer of this connection.
void LiveHttpFlow::answer(const OwnAnswer& own) {
  client_->send(own_answer(own, target_, AfterAnswer::Closed, target_.method));
  drop_server(Ending::Reset);
  close(Ending::Orderly);
}

void LiveHttpFlow::refuse_malformed(const http1::Malformed& why) {
  const std::string hint = why.status == 505 ? "the gateway speaks HTTP/1.1 here" : "";
  fail_connection("malformed", concat("a request that cannot be understood: ", why.reason));
  answer({why.status, "bad_request", why.reason, hint});
}

void LiveHttpFlow::refuse_misdirected() {
  Target named = target_;
  named.name = request_.requested->name;
  named.address = request_.requested->address;
  named.port = request_.requested->port.value_or(port_);
  const Verdict verdict = context_.decide(named);
  if (verdict.decision != Decision::Allow) {
    target_ = named;
    return refuse_denied(verdict);
  }
  const std::string why =
      concat("the request is for ", request_.host, ", but the connection was made to ", host_text());
  fail_connection("protocol", why);
  answer({421, "protocol", why, "open a connection to the host that the request is for"});
}

void LiveHttpFlow::refuse_connection(const Error& error) {
  if (error.code() != Code::Denied) return answer({502, "unreachable", error.message(), error.hint()});
  Verdict verdict;
  verdict.why = error.message();
  verdict.code = "private_address";
  refuse_denied(verdict);
}

void LiveHttpFlow::bad_gateway(const std::string& why) {
  const std::string text = concat(host_and_port(target_), ": ", why);
  fail_connection("upstream", text);
  answer({502, "upstream", text, ""});
}
void LiveHttpFlow::fail_connection(const char* code, const std::string& why) {
  Target target = target_;
  if (target.name.empty() && !target.address) {
    target.name = name_;
    target.address = address_;
    target.port = port_;
    target.protocol = inside_ == Inside::Tls ? Protocol::Tls : Protocol::Http;
  }
  Verdict verdict;
  verdict.code = code;
  verdict.why = why;
  context_.failed(target, verdict);
}

void LiveHttpFlow::end_handshake(const std::string& why) {
  fail_connection("client_tls", concat("the program inside did not accept TLS with the certificate for ", name_,
                                       " of the sandbox's own authority: ", why));
  end(Ending::Orderly);
}

}  // namespace cove::net
