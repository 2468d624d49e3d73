#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection.h"
#include "client/response_head.h"

namespace cove::client {

// The body of an answer, read as it comes. Uses the connection, which must outlive it.
class Body {
 public:
  Body() = default;
  Body(Connection& connection, const Framing& framing) : connection_(&connection), framing_(framing) {
    left_ = framing.length;
    ended_ = framing.kind == Framing::Kind::Length && left_ == 0;
  }

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
  bool ready() const;

  bool ended() const { return ended_; }
  // Where the length is known beforehand.
  std::optional<uint64_t> length() const;

 private:
  Result<size_t> read_part(char* data, size_t size);
  Result<size_t> read_raw(char* data, size_t size);
  Result<std::string> read_line();
  Result<void> begin_chunk();
  Result<void> skip_trailers();

  Connection* connection_ = nullptr;
  Framing framing_;
  uint64_t left_ = 0;           // of the body, or of the chunk
  bool within_chunks_ = false;  // a chunk was read, and its line end was not
  bool ended_ = true;
};

// The body of a request as it goes out.
class BodyWriter {
 public:
  enum class Framing { Length, Chunked };
  BodyWriter(Connection& connection, Framing framing, const Progress& progress)
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
  Framing framing_;
  const Progress& progress_;
};

}  // namespace cove::client
