#include "net/gateway/live_http_flow.h"

#include "base/text.h"
#include "net/gateway/gateway_tls.h"

namespace cove::net {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kHandshakePatience{30'000};
constexpr milliseconds kClosePatience{2'000};  // for a client to read the last answer
constexpr milliseconds kReleasePatience{50};   // see Scrubber::release
constexpr int kTurns = 16;                     // of one flow, before others have theirs

}  // namespace

LiveHttpFlow::LiveHttpFlow(Loop& loop, FlowContext& context, Order order)
    : loop_(loop),
      context_(context),
      inside_(order.inside),
      name_(std::move(order.name)),
      port_(order.port),
      address_(order.address) {
  open_client(RawSocket(std::move(order.client), std::move(order.first_bytes)));
  loop_.later(guarded([this] { advance(); }));
}

LiveHttpFlow::~LiveHttpFlow() {
  loop_.cancel(deadline_);
  loop_.cancel(release_);
}

Target LiveHttpFlow::target() const {
  if (over_ || state_ == State::Closing || state_ == State::Refusing) return {};
  if (state_ != State::Head) return target_;
  return server_ ? server_target_ : Target{};
}

std::function<void()> LiveHttpFlow::guarded(std::function<void()> call) {
  return [alive = std::weak_ptr<bool>(alive_), call = std::move(call)] {
    if (!alive.expired()) call();
  };
}

// --- turns ----------------------------------------------------------------------------------------------------------

void LiveHttpFlow::advance() {
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

bool LiveHttpFlow::step() {
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

void LiveHttpFlow::set_deadline(milliseconds patience) {
  loop_.cancel(deadline_);
  deadline_ = loop_.after(patience, guarded([this] { be_impatient(); }));
}

// Each step that needs a deadline sets its own, so what this one was for may be over.
void LiveHttpFlow::be_impatient() {
  if (over_) return;
  if (state_ == State::Closing && client_->closing())
    end(Ending::Orderly);
  else if (!client_->stream().is_ready())
    end_handshake("the TLS handshake took too long");
  else if (server_ && !server_->stream().is_ready())
    bad_gateway("the TLS handshake took too long");
  advance();
}

bool LiveHttpFlow::step_connecting() {
  if (client_->broken()) end(Ending::Reset);
  return false;
}

// What is held back goes on after a while, so that no one waits for it.
void LiveHttpFlow::watch_held() {
  const bool held = scrubber_ ? scrubber_->holds() : exchange_ && exchange_->holds();
  if (held && release_ == 0) release_ = loop_.after(kReleasePatience, guarded([this] { release_held(); }));
}

void LiveHttpFlow::release_held() {
  release_ = 0;
  if (over_) return;
  if (scrubber_)
    scrubber_->release(client_->output());
  else if (exchange_ && exchange_->holds())
    exchange_->release(client_->output());
  advance();
}

// --- the two sides ---------------------------------------------------------------------------------------------------

std::unique_ptr<HttpSide> LiveHttpFlow::side(std::unique_ptr<ByteStream> stream) {
  return std::make_unique<HttpSide>(loop_, std::move(stream), [this] { advance(); });
}

void LiveHttpFlow::open_client(RawSocket socket) {
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

void LiveHttpFlow::connect() {
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

void LiveHttpFlow::open_server(UniqueFd fd) {
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
void LiveHttpFlow::drop_server(Ending how) {
  if (!server_) return;
  account();
  server_->unwatch();
  if (how == Ending::Orderly) server_->stream().socket().finish();
  loop_.later([dropped = std::shared_ptr<HttpSide>(std::move(server_))] {});
}

void LiveHttpFlow::account() {
  if (!server_) return;
  const RawSocket& socket = server_->stream().socket();
  context_.count(socket.in_bytes() - counted_in_, socket.out_bytes() - counted_out_);
  counted_in_ = socket.in_bytes();
  counted_out_ = socket.out_bytes();
}

void LiveHttpFlow::end(Ending how) {
  if (std::exchange(over_, true)) return;
  drop_server(how);
  client_->unwatch();
  if (how != Ending::Reset) client_->stream().socket().finish();
  loop_.later(guarded([this] {
    client_.reset();
    context_.closed();
  }));
}

// --- the end ---------------------------------------------------------------------------------------------------------

void LiveHttpFlow::close(Ending how) {
  exchange_.reset();
  scrubber_.reset();
  drop_server(how);
  state_ = State::Closing;
  ending_ = how;
}

// What was sent last must arrive: a reset because of bytes that no one reads would take it away.
bool LiveHttpFlow::step_closing() {
  if (client_->broken()) return end(Ending::Reset), true;
  if (!client_->input().empty()) client_->use(client_->input().size());
  if (!client_->is_flushed()) return false;
  if (ending_ != Ending::Orderly) return end(ending_), true;
  if (!client_->closing()) set_deadline(kClosePatience);
  client_->shut();
  if (client_->is_shut() && client_->ended()) return end(Ending::Orderly), true;
  return false;
}

std::unique_ptr<HttpFlow> HttpFlow::start(Loop& loop, FlowContext& context, Order order) {
  return std::make_unique<LiveHttpFlow>(loop, context, std::move(order));
}

}  // namespace cove::net
