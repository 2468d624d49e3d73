#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "http1/head.h"

// Bodies in chunks: RFC 9112, 7.1.
namespace cove::http1 {

// "1f4\r\n": what stands before a chunk of that size; "\r\n" stands behind it.
std::string chunk_head(uint64_t size);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Blanks behind a chunk's size, which are not in the standard, and which some servers write.
enum class Padding { Refused, Taken };

// "1a;name=value" → 26.
std::expected<uint64_t, Malformed> parse_chunk_size(std::string_view line, Padding padding);

// Decodes a chunked body out of bytes as they come. Extensions are passed over; trailers that tell of framing are
// refused.
class ChunkedDecoder {
 public:
  // How long the line of a chunk's size may be, and all trailers.
  ChunkedDecoder(size_t most_head, Padding padding) : most_head_(most_head), padding_(padding), lines_(most_head) {}

  // Takes bytes off the front of `input`, puts data to the front of `out`; how many. With none put and not done, it
  // wants more input than there is (or, where `left()` is not 0, room). After an error nothing more may be fed.
  std::expected<size_t, Malformed> feed(std::string_view& input, std::span<char> out);
  bool done() const { return state_ == State::Done; }
  const Headers& trailers() const { return trailers_; }

  // Of the chunk whose data comes next: these bytes are data as they are, and may be taken past the decoder.
  uint64_t left() const { return left_; }
  void pass(uint64_t count);

 private:
  enum class State { Size, Data, DataEnd, Trailers, Done };
  std::expected<void, Malformed> take_line(std::string_view line);
  std::expected<void, Malformed> take_size(std::string_view line);
  std::expected<void, Malformed> take_end(std::string_view line);
  std::expected<void, Malformed> take_trailer(std::string_view line);

  size_t most_head_;
  Padding padding_;
  LineReader lines_;
  State state_ = State::Size;
  uint64_t left_ = 0;
  Headers trailers_;
};

}  // namespace cove::http1
