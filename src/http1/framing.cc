#include "http1/framing.h"

#include "base/ascii.h"
#include "base/text.h"

namespace cove::http1 {
namespace {

std::expected<std::optional<Framing>, Malformed> chunked_framing(const Headers& headers, bool http11) {
  std::string_view coding = *find_header(headers, "transfer-encoding");
  if (count_headers(headers, "transfer-encoding") > 1) return malformed("more than one Transfer-Encoding header");
  if (find_header(headers, "content-length")) return malformed("both Transfer-Encoding and Content-Length");
  if (!http11) return malformed("Transfer-Encoding in HTTP/1.0");
  if (!same_word(coding, "chunked")) return malformed(501, concat("transfer coding ", coding, " is not known"));
  return Framing{Framing::Kind::Chunked, 0};
}

std::expected<uint64_t, Malformed> parse_length(std::string_view text) {
  auto number = parse_integer(text, 0, INT64_MAX);
  if (!number || text.find_first_not_of("0123456789") != std::string_view::npos)
    return malformed("Content-Length is no number of bytes");
  return static_cast<uint64_t>(*number);
}

}  // namespace

std::expected<std::optional<Framing>, Malformed> told_framing(const Headers& headers, bool http11,
                                                              RepeatedLength repeated) {
  if (find_header(headers, "transfer-encoding")) return chunked_framing(headers, http11);
  auto first = find_header(headers, "content-length");
  if (!first) return std::nullopt;
  for (const auto& [name, value] : headers) {
    if (!same_word(name, "content-length") || value.data() == first->data()) continue;
    if (repeated == RepeatedLength::Refused || value != *first) return malformed("more than one Content-Length header");
  }
  auto length = parse_length(*first);
  if (!length) return std::unexpected(std::move(length).error());
  return Framing{Framing::Kind::Length, *length};
}

}  // namespace cove::http1
