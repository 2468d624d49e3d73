#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "http/request_parser.h"
#include "http/wire.h"

namespace cove::http {

// The body of one request, as it comes off the wire.
class Body {
 public:
  Body(Wire& wire, RequestParser& parser, milliseconds patience);

  // Some of it; 0 at its end. Invalid where it is malformed, Unavailable where the peer is gone or too slow.
  Result<size_t> read(std::span<char> buffer);
  // Without waiting; nothing where it would have to.
  Result<std::optional<size_t>> try_read(std::span<char> buffer);
  // Exhausted where it is longer than `most`.
  Result<std::string> read_all(size_t most);
  // What is left, into a descriptor; the number of bytes.
  Result<uint64_t> read_to(int fd);

  // All of it has been read.
  bool whole() const { return whole_; }
  // The client holds it back until it is asked for.
  bool held_back() const { return awaits_continue_ && !whole_; }
  // From now on the client is not asked for it any more: there is an answer.
  void answered() { answered_ = true; }
  // Whether it is worth reading what nobody wants, to get to the next request: it is short, and it comes.
  bool worth_draining() const;
  // Reads the rest; false where that is not worth it, or fails.
  bool drain();

 private:
  Result<void> ask();
  Result<size_t> read_known(std::span<char> buffer);
  Result<size_t> read_chunked(std::span<char> buffer);
  Result<size_t> decode(std::span<char> buffer);
  void took(uint64_t count);
  Result<uint64_t> copy_to(int fd, uint64_t most);
  Result<uint64_t> splice_to(int fd);

  Wire& wire_;
  RequestParser& parser_;
  milliseconds patience_;
  uint64_t left_;  // of a body of known length
  bool chunked_;
  bool awaits_continue_;
  bool whole_;
  bool answered_ = false;
  bool failed_ = false;
};

}  // namespace cove::http
