#include "net/gateway/proxy_handshake.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/json.h"
#include "base/text.h"
#include "http1/head.h"
#include "http1/status.h"
#include "net/gateway/http_flow.h"
#include "net/gateway/proxy_target.h"
#include "net/gateway/socks.h"

namespace cove::net {
namespace {

constexpr size_t kMostHead = 16 * 1024;
constexpr std::string_view kConnect = "CONNECT ";
constexpr std::string_view kGranted = "HTTP/1.1 200 Connection established\r\n\r\n";

std::string http_refusal(int status, std::string_view title) {
  const std::string body = json_object({{"error", std::string(title)}}).dump() + "\n";
  http1::HeadWriter head(http1::status_line(status));
  head.add("Content-Type", "application/json").add("Content-Length", concat(body.size())).add("Connection", "close");
  return concat(head.take(), body);
}

// What both protocols have in common.
class LiveHandshake : public ProxyHandshake {
 public:
  LiveHandshake(SandboxContext& context, UniqueFd client, Done done)
      : context_(context), loop_(context.loop()), client_(std::move(client)), done_(std::move(done)) {}
  ~LiveHandshake() override { stop(); }

  void start() {
    timer_ = loop_.after(kPatience, [this] { end(std::nullopt); });
    if (loop_.add(client_.get(), EPOLLIN, [this](uint32_t) { read(); })) return;
    loop_.cancel(timer_);
    timer_ = loop_.after(std::chrono::milliseconds(0), [this] { end(std::nullopt); });
  }

 protected:
  // Takes what has come. Calls end() at most once, as the last thing.
  virtual void take(std::string_view bytes) = 0;

  // Small answers to a client that has just connected fit into its socket.
  bool send(std::string_view text) {
    return text.empty() || ::send(client_.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                               static_cast<ssize_t>(text.size());
  }
  void refuse(std::string_view answer) {
    send(answer);
    // What was not read would make closing a reset, which may overtake the answer.
    ::shutdown(client_.get(), SHUT_WR);
    drain();
    end(std::nullopt);
  }
  // Decides, and refuses or ends with the order.
  void decide(ProxyOrder order) {
    if (is_internal_page(order.target)) {
      order.kind = ProxyOrder::Kind::Internal;
      return end(std::move(order));
    }
    Verdict verdict = context_.decide(order.target);
    if (verdict.decision != Decision::Deny) return end(std::move(order));
    context_.log_denial(order.target, verdict);
    refuse(denial(verdict, order.target));
  }
  // What cannot be a target is a denial, too: it may be a way around.
  void refuse_target(Target target, const char* code, const std::string& why, std::string_view answer) {
    if (target.name.empty() && !target.address) target.name = "?";
    context_.log_denial(target, {.decision = Decision::Deny, .why = why, .code = code});
    refuse(answer);
  }
  virtual std::string denial(const Verdict& verdict, const Target& target) const = 0;

  void end(std::optional<ProxyOrder> order) {
    stop();
    if (order) order->client = std::move(client_);
    auto done = std::move(done_);
    done(std::move(order));
  }

  NameTable& names() { return context_.names(); }

 private:
  void read() {
    std::array<char, 4096> buffer;
    ssize_t size = ::recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return end(std::nullopt);
    take({buffer.data(), static_cast<size_t>(size)});
  }
  void drain() {
    std::array<char, 4096> buffer;
    for (int i = 0; i < 16; ++i)
      if (::recv(client_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT) <= 0) return;
  }
  void stop() {
    loop_.cancel(timer_);
    if (client_) loop_.remove(client_.get());
  }

  SandboxContext& context_;
  Loop& loop_;
  UniqueFd client_;
  Done done_;
  uint64_t timer_ = 0;
};

class SocksHandshake : public LiveHandshake {
 public:
  using LiveHandshake::LiveHandshake;

 private:
  using Reply = SocksReader::Reply;

  void take(std::string_view bytes) override {
    auto step = reader_.feed(bytes);
    const auto& request = reader_.request();
    Target named = {.name = shown_host(request.host), .address = request.address, .port = request.port};
    if (step.state == SocksReader::State::Failed)
      return refuse_target(std::move(named), "protocol", step.why, step.reply);
    if (!send(step.reply)) return end(std::nullopt);
    if (step.state == SocksReader::State::NeedsMore) return;

    auto target = request.address ? proxy_target(*request.address, request.port, names())
                                  : proxy_target(request.host, request.port, names());
    if (!target)
      return refuse_target(std::move(named), "malformed", target.error().message(), SocksReader::reply(Reply::Denied));
    ProxyOrder order;
    order.bytes = bytes;
    order.target = std::move(*target);
    order.granted = SocksReader::reply(Reply::Granted);
    order.unreachable = SocksReader::reply(Reply::HostUnreachable);
    order.denied = SocksReader::reply(Reply::Denied);
    decide(std::move(order));
  }
  std::string denial(const Verdict&, const Target&) const override { return SocksReader::reply(Reply::Denied); }

  SocksReader reader_;
};

class HttpHandshake : public LiveHandshake {
 public:
  using LiveHandshake::LiveHandshake;

 private:
  void take(std::string_view bytes) override {
    bytes_ += bytes;
    std::string_view begin = std::string_view(bytes_).substr(0, kConnect.size());
    if (!kConnect.starts_with(begin)) return hand_over();
    if (begin.size() < kConnect.size()) return;
    http1::HeadReader head(kMostHead);
    std::string_view rest = bytes_;
    auto whole = head.feed(rest);
    if (!whole) return refuse_head(whole.error().reason);
    if (*whole) connect(head, rest);
  }

  void refuse_head(const std::string& why) {
    std::string_view target = std::string_view(bytes_).substr(kConnect.size());
    target = target.substr(0, target.find_first_of(" \r\n"));
    refuse_target({.name = shown_host(target)}, "malformed", why, http_refusal(400, why));
  }

  // Other requests are read one by one.
  void hand_over() {
    ProxyOrder order;
    order.kind = ProxyOrder::Kind::Requests;
    order.bytes = std::move(bytes_);
    end(std::move(order));
  }

  void connect(http1::HeadReader& head, std::string_view rest) {
    auto target = connect_target(head, names());
    if (!target) return refuse_head(target.error().message());
    ProxyOrder order;
    order.bytes = rest;
    order.target = std::move(*target);
    order.granted = kGranted;
    order.unreachable = http_refusal(502, "the server cannot be reached");
    order.denied = http_refusal(403, "the server's address is not allowed; see http://cove.internal/");
    decide(std::move(order));
  }

  std::string denial(const Verdict& verdict, const Target& target) const override {
    return denial_response(verdict, target);
  }

  std::string bytes_;
};

}  // namespace

std::unique_ptr<ProxyHandshake> ProxyHandshake::start(SandboxContext& context, Protocol protocol, UniqueFd client,
                                                      Done done) {
  std::unique_ptr<LiveHandshake> handshake;
  if (protocol == Protocol::Socks)
    handshake = std::make_unique<SocksHandshake>(context, std::move(client), std::move(done));
  else
    handshake = std::make_unique<HttpHandshake>(context, std::move(client), std::move(done));
  handshake->start();
  return handshake;
}

}  // namespace cove::net
