#include "api/preview/forwarding.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace cove::api {
namespace {

using Wake = http::Exchange::Wake;
using Want = http::Exchange::Want;
using std::chrono::milliseconds;

constexpr size_t kPortion = 64 * 1024;
constexpr size_t kMostHead = 64 * 1024;
constexpr size_t kMostChunkHead = 16 * 1024;
constexpr size_t kMostInterim = 16;
constexpr milliseconds kLook = std::chrono::minutes(1);
constexpr milliseconds kAsking{1000};  // for a server that does not know the question

std::unexpected<Error> no_answer(std::string_view why) {
  return fail(Code::Unavailable, concat("the server inside ", why));
}

std::unexpected<Error> malformed_answer(const http1::Malformed& why) {
  return no_answer(concat("answered with malformed HTTP: ", why.reason));
}

// To HEAD, that of the body that GET would have.
std::optional<uint64_t> length_of(const http1::ResponseHead& head, std::string_view method,
                                  const http1::Framing& framing) {
  using Kind = http1::Framing::Kind;
  if (method != "HEAD") return framing.kind == Kind::Length ? std::optional(framing.length) : std::nullopt;
  auto told = http1::told_framing(head.headers, head.http11, http1::RepeatedLength::Taken);
  return told && *told && (*told)->kind == Kind::Length ? std::optional((*told)->length) : std::nullopt;
}

}  // namespace

Forwarding::Forwarding(http::Exchange& exchange, UniqueFd socket, Passage passage)
    : exchange_(exchange),
      socket_(std::move(socket)),
      passage_(std::move(passage)),
      buffer_(kPortion),
      body_(body_of(exchange.request())),
      body_ended_(body_ == Sent::Nothing),
      asks_(exchange.holds_body_back()),
      reader_(kMostHead) {
  out_ = head_inside(exchange.request(), passage_, asks_ ? Continue::Asked : Continue::NotAsked);
}

bool Forwarding::wants_body() const { return !body_ended_ && !takes_no_more_ && !asks_ && out_.empty(); }

Result<void> Forwarding::run() {
  while (true) {
    if (wants_body()) COVE_TRY(take_body());
    push();
    const auto events = static_cast<short>(POLLIN | (out_.empty() ? 0 : POLLOUT));
    const bool asking = asks_ && out_.empty();
    switch (
        exchange_.wait(socket_.get(), events, wants_body() ? Want::Body : Want::Nothing, asking ? kAsking : kLook)) {
      case Wake::Gone:
      case Wake::Stopping:
        return {};
      case Wake::Timeout:
        asks_ = asks_ && !asking;
        break;
      case Wake::Ready:
        if (COVE_TRY(pull()) == Turn::Over) return {};
    }
  }
}

// With an answer begun, a body that is malformed or does not come ends both.
Result<void> Forwarding::take_body() {
  Result<http::Exchange::Piece> piece = exchange_.try_read(buffer_);
  if (!piece && exchange_.begun()) return takes_no_more_ = true, Result<void>();
  if (!piece) return std::unexpected(piece.error());
  if (piece->waits) return {};
  const std::string_view data(buffer_.data(), piece->bytes);
  body_ended_ = data.empty();
  if (body_ == Sent::Length) out_ = data;
  if (body_ == Sent::Chunked)
    out_ =
        data.empty() ? std::string(http1::kLastChunk) : concat(http1::chunk_head(data.size()), data, http1::kChunkEnd);
  return {};
}

// A server that takes no more may still answer, or has already.
void Forwarding::push() {
  while (!out_.empty()) {
    ssize_t count = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    takes_no_more_ = takes_no_more_ || count < 0;
    sent_ = count < 0 ? out_.size() : sent_ + static_cast<size_t>(count);
    if (sent_ < out_.size()) continue;
    out_.clear();
    sent_ = 0;
  }
}

Result<Forwarding::Turn> Forwarding::pull() {
  ssize_t count = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Turn::GoOn;
  if (count == 0) return end_of_answer();
  if (count < 0) return head_ ? Result<Turn>(Turn::Over) : no_answer("closed the connection without an answer");
  return take({buffer_.data(), static_cast<size_t>(count)});
}

// What is not whole is broken off: the browser sees that.
Result<Forwarding::Turn> Forwarding::end_of_answer() {
  if (!head_) return no_answer("closed the connection without an answer");
  return framing_.kind == http1::Framing::Kind::UntilClose ? finish() : Turn::Over;
}

Result<Forwarding::Turn> Forwarding::take(std::string_view input) {
  while (!head_ && !input.empty()) {
    if (COVE_TRY(take_head(input)) == Turn::Over) return Turn::Over;
  }
  if (!head_) return Turn::GoOn;
  if (chunks_) return take_chunks(input);
  if (framing_.kind == http1::Framing::Kind::UntilClose) return input.empty() ? Turn::GoOn : tell(input);
  input = input.substr(0, std::min<uint64_t>(input.size(), left_));
  left_ -= input.size();
  if (!input.empty() && COVE_TRY(tell(input)) == Turn::Over) return Turn::Over;
  return left_ == 0 ? finish() : Turn::GoOn;
}

Result<Forwarding::Turn> Forwarding::take_head(std::string_view& input) {
  auto whole = reader_.feed(input);
  if (!whole) return malformed_answer(whole.error());
  if (!*whole) return Turn::GoOn;
  auto head = http1::parse_response_head(reader_);
  if (!head) return malformed_answer(head.error());
  if (head->status >= 200 || head->status == 101) {
    head_ = std::move(*head);
    return begin_answer(input);
  }
  if (head->status == 100) asks_ = false;
  if (++interim_ > kMostInterim) return no_answer("sends nothing but announcements");
  reader_ = http1::HeadReader(kMostHead);
  return Turn::GoOn;
}

Result<Forwarding::Turn> Forwarding::begin_answer(std::string_view& input) {
  const http::Request& request = exchange_.request();
  if (head_->status == 101) {
    if (!asks_to_switch(request)) return head_.reset(), no_answer("switched protocols without being asked");
    auto tunnel = exchange_.switch_protocols(headers_outside(*head_, passage_));
    if (tunnel) (*tunnel)->relay(socket_.get(), input);
    return Turn::Over;
  }
  auto framing = http1::framing_of(*head_, request.method);
  if (!framing) return head_.reset(), malformed_answer(framing.error());
  framing_ = *framing;
  left_ = framing_.length;
  if (framing_.chunked()) chunks_.emplace(kMostChunkHead, http1::Padding::Taken);
  const std::optional<uint64_t> length = length_of(*head_, request.method, framing_);
  // To a request with a body that the client still holds back, this is the answer: it is not asked for it any more.
  takes_no_more_ = takes_no_more_ || asks_;
  exchange_.pass_on();
  return exchange_.begin(head_->status, headers_outside(*head_, passage_), length) ? Turn::GoOn : Turn::Over;
}

Result<Forwarding::Turn> Forwarding::take_chunks(std::string_view input) {
  std::vector<char> data(kPortion);
  while (true) {
    auto count = chunks_->feed(input, data);
    if (!count) return Turn::Over;
    if (*count > 0 && COVE_TRY(tell({data.data(), *count})) == Turn::Over) return Turn::Over;
    if (chunks_->done()) return finish();
    if (*count == 0 && input.empty()) return Turn::GoOn;
  }
}

Result<Forwarding::Turn> Forwarding::tell(std::string_view data) {
  return exchange_.write(data) ? Turn::GoOn : Turn::Over;
}

Result<Forwarding::Turn> Forwarding::finish() {
  static_cast<void>(exchange_.end());
  return Turn::Over;
}

}  // namespace cove::api
