#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace cove::http {

// What is wrong with a request, as the answer to it tells.
struct Malformed {
  int status = 400;
  std::string reason;
};

// How the body of a request comes.
struct Framing {
  bool chunked = false;
  uint64_t length = 0;            // where it is not chunked
  bool expects_continue = false;  // the client waits for 100 Continue before it sends it
  bool empty() const { return !chunked && length == 0; }
};

struct Head {
  Request request;  // without captures and peer
  bool http11 = true;
  bool keep_alive = true;  // the client would like to
  Framing framing;
};

// Parses one request out of bytes as they come; touches no socket.
class RequestParser {
 public:
  explicit RequestParser(size_t max_header_bytes);
  ~RequestParser();

  // Uses bytes off the front of `input`; true when the head is whole, false when more is needed.
  std::expected<bool, Malformed> parse_head(std::string_view& input);
  // The head so far: whole, or what could be read of a malformed one.
  Head& head();

  // The next bytes of a chunked body: takes from the front of `input`, puts into `out`. With nothing put and not done,
  // it wants more input than there is.
  struct Piece {
    size_t bytes = 0;
    bool done = false;
  };
  std::expected<Piece, Malformed> parse_chunked(std::string_view& input, std::span<char> out);

 private:
  class Grammar;
  std::unique_ptr<Grammar> grammar_;
};

}  // namespace cove::http
