#pragma once

#include <cstdint>
#include <expected>

#include "http1/head.h"

namespace cove::http1 {

// How the end of a body is told.
struct Framing {
  enum class Kind { Length, Chunked, UntilClose };
  Kind kind = Kind::Length;
  uint64_t length = 0;  // of Kind::Length

  bool chunked() const { return kind == Kind::Chunked; }
  bool empty() const { return kind == Kind::Length && length == 0; }
};

// Whether a length that is told twice, the same each time, is taken.
enum class RepeatedLength { Refused, Taken };

// What the headers say of a body's end; nothing where they are silent. Refused is what two parsers could read in two
// ways: a length and chunks, several lengths, other codings than chunked (501), and chunks in HTTP/1.0.
std::expected<std::optional<Framing>, Malformed> told_framing(const Headers& headers, bool http11,
                                                              RepeatedLength repeated);

}  // namespace cove::http1
