#include "net/gateway/http_flow.h"

#include <openssl/crypto.h>

#include "base/text.h"
#include "net/gateway/gateway_tls.h"
#include "net/gateway/http_exchange.h"
#include "net/gateway/http_side.h"

namespace cove::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHandshakePatience{30'000};
constexpr milliseconds kClosePatience{2'000};     // for a client to read the last answer
constexpr milliseconds kReleasePatience{50};      // see Scrubber::release
constexpr uint64_t kMostDiscarded = 1024 * 1024;  // of the body of a refused request
constexpr int kTurns = 16;                        // of one flow, before others have theirs

bool same_server(const Target& a, const Target& b) {
  return a.name == b.name && a.address == b.address && a.port == b.port;
}

class Flow final : public HttpFlow {
 public:
  Flow(Loop& loop, FlowContext& context, Order order)
      : loop_(loop),
        context_(context),
        inside_(order.inside),
        name_(std::move(order.name)),
        port_(order.port),
        address_(order.address) {
    open_client(RawSocket(std::move(order.client), std::move(order.first_bytes)));
    loop_.later(guarded([this] { advance(); }));
  }

  ~Flow() override {
    loop_.cancel(deadline_);
    loop_.cancel(release_);
  }

  Target target() const override {
    if (over_ || state_ == State::Closing || state_ == State::Refusing) return {};
    if (state_ != State::Head) return target_;
    Target idle = server_ ? server_target_ : Target{};
    return idle;
  }

 private:
  enum class State { Head, Connecting, Exchange, Tunnel, Refusing, Closing };
  enum class Ending { Orderly, Unannounced, Reset };  // unannounced: without the end that TLS has

  // Nothing is called after the flow's end.
  std::function<void()> guarded(std::function<void()> call) {
    return [alive = std::weak_ptr<bool>(alive_), call = std::move(call)] {
      if (!alive.expired()) call();
    };
  }

  // --- the two sides
  // --------------------------------------------------------------------------------------------------

  std::unique_ptr<HttpSide> side(std::unique_ptr<ByteStream> stream) {
    return std::make_unique<HttpSide>(loop_, std::move(stream), [this] { advance(); });
  }

  void open_client(RawSocket socket) {
    if (inside_ != Inside::Tls) {
      client_ = side(ByteStream::plain(std::move(socket)));
      return;
    }
    auto session = context_.tls().new_server(name_, context_.policy());
    if (!session) {
      fail_connection("authority", concat("it cannot be intercepted: ", session.error().message()));
      client_ = side(ByteStream::plain(std::move(socket)));
      return end(Ending::Reset);
    }
    client_ = side(ByteStream::tls(std::move(socket), std::move(*session)));
    set_deadline(kHandshakePatience);
  }

  void connect() {
    drop_server(Ending::Orderly);
    state_ = State::Connecting;
    Target server = target_;
    server.method.clear();
    server.path.clear();
    context_.connect(server, [this, alive = std::weak_ptr<bool>(alive_), server](Result<UniqueFd> fd) {
      if (alive.expired() || over_ || state_ != State::Connecting) return;
      server_target_ = server;
      fd ? open_server(std::move(*fd)) : refuse_connection(fd.error());
      advance();
    });
  }

  void open_server(UniqueFd fd) {
    RawSocket socket(std::move(fd), "");
    counted_in_ = counted_out_ = 0;
    reused_ = false;
    if (inside_ == Inside::Tls) {
      auto session = context_.tls().new_client(target_.name);
      if (!session) return bad_gateway(session.error().message());
      server_ = side(ByteStream::tls(std::move(socket), std::move(*session)));
      set_deadline(kHandshakePatience);
    } else {
      server_ = side(ByteStream::plain(std::move(socket)));
    }
    begin_exchange();
  }

  // May be called by a handler of the side, so it is destroyed after it.
  void drop_server(Ending how) {
    if (!server_) return;
    account();
    server_->unwatch();
    if (how == Ending::Orderly) server_->stream().socket().finish();
    loop_.later([dropped = std::shared_ptr<HttpSide>(std::move(server_))] {});
  }

  void account() {
    if (!server_) return;
    const RawSocket& socket = server_->stream().socket();
    context_.count(socket.in_bytes() - counted_in_, socket.out_bytes() - counted_out_);
    counted_in_ = socket.in_bytes();
    counted_out_ = socket.out_bytes();
  }

  void end(Ending how) {
    if (std::exchange(over_, true)) return;
    drop_server(how);
    client_->unwatch();
    if (how != Ending::Reset) client_->stream().socket().finish();
    loop_.later(guarded([this] {
      client_.reset();
      context_.closed();
    }));
  }

  // --- turns
  // ----------------------------------------------------------------------------------------------------------

  void advance() {
    int turns = 0;
    while (!over_ && turns < kTurns && step()) ++turns;
    account();
    if (!over_ && context_.over_budget()) end(Ending::Reset);
    if (over_) return;
    if (turns == kTurns) loop_.later(guarded([this] { advance(); }));
    client_->watch();
    if (server_) server_->watch();
    watch_held();
  }

  bool step() {
    bool moved = client_->move();
    if (server_) moved = server_->move() || moved;
    switch (state_) {
      case State::Head:
        return step_head() || moved;
      case State::Connecting:
        return step_connecting() || moved;
      case State::Exchange:
        return step_exchange() || moved;
      case State::Tunnel:
        return step_tunnel() || moved;
      case State::Refusing:
        return step_refusing() || moved;
      case State::Closing:
        return step_closing() || moved;
    }
    return false;
  }

  void set_deadline(milliseconds patience) {
    loop_.cancel(deadline_);
    deadline_ = loop_.after(patience, guarded([this] { be_impatient(); }));
  }

  void be_impatient() {
    if (over_) return;
    if (state_ == State::Closing)
      end(Ending::Orderly);
    else if (!client_->stream().is_ready())
      end_handshake("the TLS handshake took too long");
    else if (server_ && !server_->stream().is_ready())
      bad_gateway("the TLS handshake took too long");
    advance();
  }

  bool step_connecting() {
    if (client_->broken()) end(Ending::Reset);
    return false;
  }

  // --- a request
  // ------------------------------------------------------------------------------------------------------

  bool step_head() {
    if (client_->broken()) return end_handshake_or_reset();
    if (server_ && (!server_->open() || !server_->input().empty())) {
      drop_server(Ending::Orderly);
      const bool idle = client_->input().empty() && !head_begun_;
      if (inside_ != Inside::Proxy && idle) close(Ending::Orderly);
      return true;
    }
    std::string_view input = client_->input();
    if (input.empty()) {
      if (client_->ended()) close(Ending::Orderly);
      return client_->ended();
    }
    const size_t before = input.size();
    head_begun_ = true;
    auto whole = request_head_->feed(input);
    client_->use(before - input.size());
    if (!whole)
      refuse_malformed(whole.error());
    else if (*whole)
      begin_request();
    return true;
  }

  void begin_request() {
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

  Target target_of(HttpRequest& request) const {
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

  std::string host_text() const {
    const bool usual = port_ == (inside_ == Inside::Tls ? 443 : 80);
    const std::string host = !name_.empty() ? name_ : address_ ? in_brackets(*address_) : "";
    return usual ? host : concat(host, ":", port_);
  }
  static std::string in_brackets(const Address& address) {
    return address.is_v4() ? to_text(address) : concat("[", to_text(address), "]");
  }

  // Whether the request names whom the connection is for.
  bool agrees(const HttpRequest& request) const {
    if (inside_ == Inside::Proxy || !request.requested) return true;
    const RequestedHost& requested = *request.requested;
    if (requested.port && *requested.port != port_) return false;
    if (!name_.empty()) return requested.name == name_;
    return !requested.address || requested.address == address_;
  }

  // A connection to an address alone may name a host that is blocked.
  Verdict decide() {
    const std::string host = request_.requested ? request_.requested->name : "";
    if (target_.name.empty() && !host.empty()) {
      Target named = target_;
      named.name = host;
      Verdict verdict = context_.decide(named);
      if (verdict.decision != Decision::Allow) return verdict;
    }
    return context_.decide(target_);
  }

  // --- the exchange
  // ---------------------------------------------------------------------------------------------------

  void begin_exchange() {
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

  std::vector<const BrokeredSecret*> secrets_for_target() const {
    std::vector<const BrokeredSecret*> secrets;
    if (inside_ != Inside::Tls) return secrets;
    for (const BrokeredSecret& secret : context_.policy().secrets)
      if (is_for(secret, target_.name, target_.port)) secrets.push_back(&secret);
    return secrets;
  }

  std::shared_ptr<const SecretForms> forms() {
    const EffectivePolicy& policy = context_.policy();
    if (policy.secrets.empty()) return nullptr;
    if (!forms_ || forms_version_ != policy.version) forms_ = std::make_shared<SecretForms>(policy.secrets);
    forms_version_ = policy.version;
    return forms_;
  }

  bool step_exchange() {
    if (client_->broken()) return end(Ending::Reset), true;
    bool moved = pass_request();
    if (state_ == State::Exchange) moved = pass_answer() || moved;
    if (state_ != State::Exchange || over_) return true;
    if (exchange_->is_upgraded()) return begin_tunnel(), true;
    if (exchange_->is_answer_done()) return finish_exchange(), true;
    if (!server_->open() && server_->input().empty()) return lose_server(), true;
    return moved;
  }

  bool pass_request() {
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

  bool pass_answer() {
    std::string_view input = server_->input();
    if (input.empty() || !client_->has_room()) return false;
    const size_t before = input.size();
    auto taken = exchange_->take_answer(input, client_->output());
    server_->use(before - input.size());
    if (!taken) exchange_->is_answer_promised() ? close(Ending::Reset) : bad_gateway(taken.error().reason);
    return !taken || input.size() < before;
  }

  void finish_exchange() {
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
  void lose_server() {
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

  // --- after an upgrade
  // -----------------------------------------------------------------------------------------------

  void begin_tunnel() {
    state_ = State::Tunnel;
    exchange_.reset();
    scrubber_.reset();
    if (auto secret_forms = forms(); secret_forms && !secret_forms->empty()) scrubber_.emplace(secret_forms);
  }

  bool step_tunnel() {
    if (client_->broken() || server_->broken()) return end(Ending::Reset), true;
    bool moved = false;
    if (!client_->input().empty() && server_->has_room()) {
      server_->send(client_->input());
      client_->use(client_->input().size());
      moved = true;
    }
    if (!server_->input().empty() && client_->has_room()) {
      scrubber_ ? scrubber_->feed(server_->input(), client_->output()) : client_->send(server_->input());
      server_->use(server_->input().size());
      moved = true;
    }
    if (client_->ended() && client_->input().empty()) server_->shut();
    if (server_->ended() && server_->input().empty()) {
      if (scrubber_) scrubber_->finish(client_->output());
      client_->shut();
    }
    if (client_->is_shut() && server_->is_shut()) end(Ending::Orderly);
    return moved;
  }

  // What is held back goes on after a while, so that no one waits for it.
  void watch_held() {
    const bool held = scrubber_ ? scrubber_->holds() : exchange_ && exchange_->holds();
    if (!held || release_ != 0) return;
    release_ = loop_.after(kReleasePatience, guarded([this] {
                             release_ = 0;
                             if (over_) return;
                             if (scrubber_)
                               scrubber_->release(client_->output());
                             else if (exchange_ && exchange_->holds())
                               exchange_->release(client_->output());
                             advance();
                           }));
  }

  // --- refusals
  // -------------------------------------------------------------------------------------------------------

  void refuse_denied(const Verdict& verdict) {
    const bool drains = request_.keeps_alive && !request_.expects_continue &&
                        (request_.framing.chunked() || request_.framing.length <= kMostDiscarded);
    client_->send(denial_answer(verdict, target_, drains ? AfterAnswer::Kept : AfterAnswer::Closed));
    if (!drains) return close(Ending::Orderly);
    state_ = State::Refusing;
    discarded_ = 0;
    refused_body_.emplace(request_.framing, HttpBody::Chunks::Dropped, http1::Padding::Refused, std::nullopt);
  }

  bool step_refusing() {
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
  void answer(const OwnAnswer& own) {
    client_->send(own_answer(own, target_, AfterAnswer::Closed, target_.method));
    drop_server(Ending::Reset);
    close(Ending::Orderly);
  }

  void refuse_malformed(const http1::Malformed& why) {
    const std::string hint = why.status == 505 ? "the gateway speaks HTTP/1.1 here" : "";
    answer({why.status, "bad_request", why.reason, hint});
  }

  void refuse_misdirected() {
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

  void refuse_connection(const Error& error) {
    if (error.code() != Code::Denied) return answer({502, "unreachable", error.message(), error.hint()});
    Verdict verdict;
    verdict.why = error.message();
    verdict.code = "private_address";
    refuse_denied(verdict);
  }

  void bad_gateway(const std::string& why) {
    const std::string text = concat(host_text_of(target_), ": ", why);
    fail_connection("upstream", text);
    answer({502, "upstream", text, ""});
  }
  static std::string host_text_of(const Target& target) {
    return concat(target.name.empty() && target.address ? in_brackets(*target.address) : target.name, ":", target.port);
  }

  void fail_connection(const char* code, const std::string& why) {
    Target target = target_;
    if (target.name.empty() && !target.address) {
      target.name = name_;
      target.port = port_;
      target.protocol = Protocol::Tls;
    }
    Verdict verdict;
    verdict.code = code;
    verdict.why = why;
    context_.failed(target, verdict);
  }

  bool end_handshake_or_reset() {
    if (client_->stream().is_ready())
      end(Ending::Reset);
    else
      end_handshake(client_->stream().why_broken());
    return true;
  }

  void end_handshake(const std::string& why) {
    fail_connection("client_tls", concat("the program inside did not accept TLS with the certificate for ", name_,
                                         " of the sandbox's own authority: ", why));
    end(Ending::Orderly);
  }

  // --- the end
  // --------------------------------------------------------------------------------------------------------

  void close(Ending how) {
    exchange_.reset();
    scrubber_.reset();
    if (how == Ending::Reset) drop_server(how);
    state_ = State::Closing;
    ending_ = how;
  }

  // What was sent last must arrive: a reset because of bytes that no one reads would take it away.
  bool step_closing() {
    if (client_->broken()) return end(Ending::Reset), true;
    if (!client_->input().empty()) client_->use(client_->input().size());
    if (!client_->is_flushed()) return false;
    if (ending_ != Ending::Orderly) return end(ending_), true;
    if (!client_->closing()) set_deadline(kClosePatience);
    client_->shut();
    if (client_->is_shut() && client_->ended()) return end(Ending::Orderly), true;
    return false;
  }

  Loop& loop_;
  FlowContext& context_;
  const Inside inside_;
  const std::string name_;
  const uint16_t port_;
  const std::optional<Address> address_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::unique_ptr<HttpSide> client_, server_;
  Target server_target_;
  bool reused_ = false;
  uint64_t counted_in_ = 0, counted_out_ = 0;

  State state_ = State::Head;
  Ending ending_ = Ending::Orderly;
  bool over_ = false;
  uint64_t deadline_ = 0, release_ = 0;

  std::optional<http1::HeadReader> request_head_{kMostHead};
  bool head_begun_ = false;
  HttpRequest request_;
  Target target_;
  std::optional<HttpExchange> exchange_;
  std::optional<Scrubber> scrubber_;  // after an upgrade
  std::optional<HttpBody> refused_body_;
  uint64_t discarded_ = 0;
  std::shared_ptr<const SecretForms> forms_;
  uint64_t forms_version_ = 0;
};

}  // namespace

std::unique_ptr<HttpFlow> HttpFlow::start(Loop& loop, FlowContext& context, Order order) {
  return std::make_unique<Flow>(loop, context, std::move(order));
}

}  // namespace cove::net
