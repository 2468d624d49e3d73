#include "client/input_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.h"
#include "client/problem.h"

namespace cove::client {
namespace {

// Of a refusal because the program does not read: how much of the piece it has taken.
size_t taken_of(const Error& error) {
  constexpr std::string_view kWords = " took ";
  size_t at = error.what().find(kWords);
  return at == std::string::npos ? 0 : std::strtoull(error.what().c_str() + at + kWords.size(), nullptr, 10);
}

bool waits_for_reader(const Error& error) {
  return error.code() == Code::Unavailable && error.what().find("does not read on") != std::string::npos;
}

}  // namespace

short InputChannel::wanted() const { return sent_ < out_.size() ? POLLIN | POLLOUT : POLLIN; }

Result<void> InputChannel::send(std::string piece, Then then) {
  piece_ = std::move(piece);
  then_ = then;
  return give_up(begin());
}

// A connection that failed is not used again.
Result<void> InputChannel::give_up(Result<void> moved) {
  if (moved || moved.error().code() != Code::Unavailable) return moved;
  connection_.reset();
  under_way_ = false;
  return moved;
}

Result<void> InputChannel::begin() {
  if (!connection_) connection_ = std::make_unique<Connection>(COVE_TRY(Connection::open(http_.address())));
  Request request;
  request.method = "POST";
  request.target = target_ + (then_ == Then::Close ? "?close=true" : "");
  request.headers = {{"Content-Type", "application/octet-stream"}};
  request.body = piece_;
  out_ = http_.head_of(request) + piece_;
  sent_ = 0;
  under_way_ = true;
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
  if (!under_way_ || revents == 0) return {};
  if ((revents & ~POLLOUT) != 0) return give_up(receive());
  return give_up(transmit());
}

// The answer is a few hundred bytes, which come at once.
Result<void> InputChannel::receive() {
  ResponseHead head = COVE_TRY(receive_head(*connection_));
  Body body(*connection_, COVE_TRY(framing_of(head, "POST")));
  std::string text = COVE_TRY(body.read_all(1 << 20));
  if (!head.keeps_alive || sent_ < out_.size()) connection_.reset();
  under_way_ = false;
  return conclude(head, text);
}

Result<void> InputChannel::conclude(const ResponseHead& head, const std::string& body) {
  if (head.status < 400) return {};
  Error error = read_problem(head, body);
  if (!waits_for_reader(error)) return fail(std::move(error));
  // The program may yet read.
  piece_.erase(0, taken_of(error));
  return begin();
}

}  // namespace cove::client
