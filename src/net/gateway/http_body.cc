#include "net/gateway/http_body.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace cove::net {
namespace {

constexpr size_t kMostChunkHead = 8 * 1024;

bool may_trail(std::string_view name) {
  constexpr std::string_view kNever[] = {"host",         "connection",    "te",        "trailer",
                                         "upgrade",      "authorization", "expect",    "content-encoding",
                                         "content-type", "content-range", "set-cookie"};
  return std::ranges::none_of(kNever, [&](std::string_view each) { return same_word(each, name); });
}

}  // namespace

HttpBody::HttpBody(http1::Framing framing, Chunks chunks, http1::Padding padding, std::optional<Scrubber> scrubber)
    : framing_(framing),
      writes_chunks_(framing.chunked() && chunks == Chunks::Kept),
      decoder_(kMostChunkHead, padding),
      scrubber_(std::move(scrubber)),
      left_(framing.length),
      done_(framing.empty()) {}

void HttpBody::write(std::string_view data, std::string& out) const {
  if (data.empty()) return;
  if (!writes_chunks_) {
    out += data;
    return;
  }
  out += http1::chunk_head(data.size());
  out += data;
  out += http1::kChunkEnd;
}

void HttpBody::put(std::string_view data, std::string& out) {
  if (!scrubber_) return write(data, out);
  std::string clean;
  scrubber_->feed(data, clean);
  write(clean, out);
}

void HttpBody::release(std::string& out) {
  std::string shown;
  if (scrubber_) scrubber_->release(shown);
  write(shown, out);
}

std::string HttpBody::trailers() const {
  std::string text;
  for (const auto& [name, value] : decoder_.trailers())
    if (may_trail(name)) text += concat(name, ": ", value, "\r\n");
  return scrubber_ ? scrubber_->scrubbed(text) : text;
}

void HttpBody::finish(std::string& out) {
  std::string rest;
  if (scrubber_) scrubber_->finish(rest);
  write(rest, out);
  if (writes_chunks_) out += concat("0\r\n", trailers(), "\r\n");
  done_ = true;
}

std::expected<void, http1::Malformed> HttpBody::feed_chunks(std::string_view& input, std::string& out) {
  while (!decoder_.done() && !input.empty()) {
    if (auto fed = decoder_.feed(input, {}); !fed) return std::unexpected(std::move(fed).error());
    const auto count = static_cast<size_t>(std::min<uint64_t>(decoder_.left(), input.size()));
    if (count == 0) continue;
    put(input.substr(0, count), out);
    input.remove_prefix(count);
    decoder_.pass(count);
  }
  if (decoder_.done()) finish(out);
  return {};
}

std::expected<void, http1::Malformed> HttpBody::feed(std::string_view& input, std::string& out) {
  if (done_) return {};
  if (framing_.chunked()) return feed_chunks(input, out);
  const bool until_close = framing_.kind == http1::Framing::Kind::UntilClose;
  const auto count = until_close ? input.size() : static_cast<size_t>(std::min<uint64_t>(left_, input.size()));
  put(input.substr(0, count), out);
  input.remove_prefix(count);
  left_ -= until_close ? 0 : count;
  if (!until_close && left_ == 0) finish(out);
  return {};
}

bool HttpBody::end(std::string& out) {
  if (!done_ && framing_.kind == http1::Framing::Kind::UntilClose) finish(out);
  return done_;
}

}  // namespace cove::net
