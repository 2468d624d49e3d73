#include "client/input_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "client/problem.h"

namespace cove::client {
namespace {

// "… (it took 12 bytes of these)": of a server that ends before the program has read everything.
std::optional<size_t> taken_of(const Error& error) {
  constexpr std::string_view kWords = "(it took ";
  size_t at = error.what().find(kWords);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoull(error.what().c_str() + at + kWords.size(), nullptr, 10);
}

}  // namespace

short InputChannel::wanted() const { return sent_ < out_.size() ? POLLIN | POLLOUT : POLLIN; }

Result<void> InputChannel::send(std::string piece, Then then) {
  piece_ = std::move(piece);
  then_ = then;
  return checked(begin());
}

// A connection that failed is not used again. What was not sent at all can be sent to the next server.
Result<void> InputChannel::checked(Result<void> moved) {
  if (moved || state_ != State::UnderWay) return moved;
  connection_.reset();
  state_ = moved.error().code() != Code::Unavailable ? State::Idle : sent_ == 0 ? State::Left : State::Lost;
  return moved;
}

Result<void> InputChannel::begin() {
  state_ = State::UnderWay;
  sent_ = 0;
  // A server lets go of connections that are not used for a while.
  if (connection_ && connection_->has_news()) connection_.reset();
  if (!connection_) connection_ = std::make_unique<Connection>(COVE_TRY(Connection::open(http_.address())));
  Request request;
  request.method = "POST";
  request.target = target_ + (then_ == Then::Close ? "?close=true" : "");
  request.headers = {{"Content-Type", "application/octet-stream"}};
  request.body = piece_;
  out_ = http_.head_of(request) + piece_;
  return transmit();
}

Result<void> InputChannel::transmit() {
  while (sent_ < out_.size()) {
    ssize_t count = ::send(connection_->fd(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return {};
    if (count < 0) return fail(Error::from_errno(errno, "write to the server").as(Code::Unavailable));
    sent_ += static_cast<size_t>(count);
  }
  return {};
}

Result<void> InputChannel::move(short revents) {
  if (state_ != State::UnderWay || revents == 0) return {};
  return checked((revents & ~POLLOUT) != 0 ? receive() : transmit());
}

// The answer is a few hundred bytes, which come at once.
Result<void> InputChannel::receive() {
  ResponseHead head = COVE_TRY(receive_head(*connection_));
  Body body = COVE_TRY(body_of(*connection_, head, "POST"));
  std::string text = COVE_TRY(body.read_all(1 << 20));
  if (!head.keeps_alive || sent_ < out_.size()) connection_.reset();
  return conclude(head, text);
}

Result<void> InputChannel::conclude(const ResponseHead& head, const std::string& body) {
  state_ = State::Idle;
  if (head.status < 400) return {};
  Error error = read_problem(head, body);
  std::optional<size_t> taken = taken_of(error);
  if (error.code() == Code::Unavailable) {
    connection_.reset();
    state_ = taken ? State::Left : State::Lost;
    piece_.erase(0, taken.value_or(0));
  }
  return fail(std::move(error));
}

Result<void> InputChannel::settle(std::chrono::milliseconds patience) {
  auto deadline = std::chrono::steady_clock::now() + patience;
  while (state_ == State::UnderWay) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    pollfd polled = {fd(), wanted(), 0};
    ::poll(&polled, 1, static_cast<int>(left.count()));
    static_cast<void>(move(polled.revents));  // what came of it is in the state
  }
  if (state_ == State::Idle || state_ == State::Left) return {};
  return fail(Code::Unavailable, "the server was lost, and with it what the program was to read");
}

Result<void> InputChannel::resume() {
  connection_.reset();
  if (state_ == State::Idle) return {};
  return checked(begin());
}

}  // namespace cove::client
