#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "http1/chunked.h"
#include "http1/framing.h"

namespace cove::http {

using http1::Malformed;

struct Head {
  Request request;  // without captures and peer
  bool http11 = true;
  bool keep_alive = true;  // the client would like to
  http1::Framing framing;
  bool expects_continue = false;  // the client waits for 100 Continue before it sends the body
};

// Parses one request out of bytes as they come; touches no socket.
class RequestParser {
 public:
  explicit RequestParser(size_t max_header_bytes);

  // Uses bytes off the front of `input`; true when the head is whole, false when more is needed.
  std::expected<bool, Malformed> parse_head(std::string_view& input);
  // The head so far: whole, or what could be read of a malformed one.
  Head& head() { return head_; }

  // The next bytes of a chunked body: takes from the front of `input`, puts into `out`. With nothing put and not done,
  // it wants more input than there is.
  struct Piece {
    size_t bytes = 0;
    bool done = false;
  };
  std::expected<Piece, Malformed> parse_chunked(std::string_view& input, std::span<char> out);

 private:
  std::expected<void, Malformed> take_request_line();

  http1::HeadReader reader_;
  http1::ChunkedDecoder chunks_;
  bool line_taken_ = false;
  Head head_;
};

}  // namespace cove::http
