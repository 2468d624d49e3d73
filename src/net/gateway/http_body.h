#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http1/chunked.h"
#include "http1/framing.h"
#include "net/gateway/scrubber.h"

namespace cove::net {

// A body on its way from one connection to another: read by its framing, written anew (chunks and trailers as well),
// and scrubbed where there is something to scrub.
class HttpBody {
 public:
  enum class Chunks { Kept, Dropped };  // dropped: for a peer that knows none; its connection's end is the body's

  // `scrubber` may be empty.
  HttpBody(http1::Framing framing, Chunks chunks, http1::Padding padding, std::optional<Scrubber> scrubber);

  // Takes bytes off the front of `input`, appends what goes on to `out`.
  std::expected<void, http1::Malformed> feed(std::string_view& input, std::string& out);
  // The connection that it comes from has ended. False where the body is not whole.
  bool end(std::string& out);
  bool done() const { return done_; }
  // See Scrubber.
  bool holds() const { return scrubber_ && scrubber_->holds(); }
  void release(std::string& out);

 private:
  std::expected<void, http1::Malformed> feed_chunks(std::string_view& input, std::string& out);
  void put(std::string_view data, std::string& out);
  void finish(std::string& out);
  void write(std::string_view data, std::string& out) const;
  std::string trailers() const;

  http1::Framing framing_;
  bool writes_chunks_;
  http1::ChunkedDecoder decoder_;
  std::optional<Scrubber> scrubber_;
  uint64_t left_;
  bool done_ = false;
};

}  // namespace cove::net
