#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// The head of an HTTP/1.1 answer (RFC 9112). What does not keep to the form is an Internal error: the other side is no
// server of ours.
namespace cove::client {

struct Header {
  std::string name;
  std::string value;
};

struct ResponseHead {
  int status = 0;
  std::vector<Header> headers;
  bool keeps_alive = true;

  // The value of the first header of that name, in any case; empty where there is none.
  std::string_view header(std::string_view name) const;
};

inline constexpr size_t kMaxHead = 64 * 1024;

// How many bytes of `buffer` are a head with its empty line; nothing where it is not complete yet.
std::optional<size_t> head_size(std::string_view buffer);
// `text` is a head with its empty line.
Result<ResponseHead> parse_response_head(std::string_view text);

// How the body's end is told.
struct Framing {
  enum class Kind { Length, Chunked, UntilClose };
  Kind kind = Kind::Length;
  uint64_t length = 0;
};
Result<Framing> framing_of(const ResponseHead& head, std::string_view method);

// "1a;extension" → 26.
Result<uint64_t> parse_chunk_size(std::string_view line);

}  // namespace cove::client
