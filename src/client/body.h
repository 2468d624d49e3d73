#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection.h"
#include "http1/chunked.h"
#include "http1/response.h"

namespace cove::client {

using http1::Framing;
using http1::ResponseHead;

// Internal: what answers does not speak HTTP/1.1 as it is written down.
std::unexpected<Error> no_http(const http1::Malformed& why);

// The body of an answer, read as it comes. Uses the connection, which must outlive it.
class Body {
 public:
  Body() = default;
  Body(Connection& connection, const Framing& framing);

  // What is there, or comes next, at most `size` bytes; 0 at the end. A body that breaks off is Unavailable.
  Result<size_t> read(char* data, size_t size);
  // All of it; Exhausted where it is more than `most`.
  Result<std::string> read_all(size_t most);
  // All of it into a file or a pipe; how many bytes.
  Result<uint64_t> copy_to(int file, const Progress& progress);

  // For a poll loop: where to wait; after that, `fill` takes what has come (false: the server has closed), and `ready`
  // says whether the next `read` finds something without waiting.
  int fd() const { return connection_->fd(); }
  Result<bool> fill() { return connection_->fill(); }
  Result<bool> ready();

  bool ended() const { return ended_; }
  // Where the length is known beforehand.
  std::optional<uint64_t> length() const;

 private:
  static constexpr size_t kMaxChunkHead = 8192;

  Result<size_t> read_known(char* data, size_t size);
  Result<size_t> read_until_close(char* data, size_t size);
  Result<size_t> read_chunked(char* data, size_t size);
  Result<size_t> decode(std::span<char> out);
  Result<size_t> read_raw(char* data, size_t size);

  Connection* connection_ = nullptr;
  Framing framing_;
  uint64_t left_ = 0;  // of a body of known length
  http1::ChunkedDecoder chunks_{kMaxChunkHead, http1::Padding::Taken};
  bool ended_ = true;
};

// The body of the answer with this head, to a request with that method.
Result<Body> body_of(Connection& connection, const ResponseHead& head, std::string_view method);

// The body of a request as it goes out.
class BodyWriter {
 public:
  BodyWriter(Connection& connection, Framing::Kind framing, const Progress& progress)
      : connection_(connection), framing_(framing), progress_(progress) {}

  Result<void> write(std::string_view data);
  // `count` bytes of a file, from where it stands.
  Result<void> write_file(int file, uint64_t count);
  // All that a pipe, a terminal or a file still gives.
  Result<void> write_rest(int file);
  Result<void> end();

 private:
  // The server answers before it has everything: there is no use in sending the rest.
  Result<void> check_wanted() const;

  Connection& connection_;
  Framing::Kind framing_;
  const Progress& progress_;
};

}  // namespace cove::client
