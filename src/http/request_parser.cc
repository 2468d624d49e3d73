#include "http/request_parser.h"

#include "http/request_head.h"
#include "http1/request.h"

namespace cove::http {

RequestParser::RequestParser(size_t max_header_bytes)
    : reader_(max_header_bytes), chunks_(max_header_bytes, http1::Padding::Refused) {}

std::expected<bool, Malformed> RequestParser::parse_head(std::string_view& input) {
  auto whole = reader_.feed(input);
  // A line that is no request's is refused before its headers come.
  if (reader_.has_first_line() && !line_taken_)
    if (auto taken = take_request_line(); !taken) return std::unexpected(std::move(taken).error());
  if (!whole || !*whole) return whole;
  head_.request.headers = std::move(reader_.headers());
  if (auto completed = complete(head_); !completed) return std::unexpected(std::move(completed).error());
  return true;
}

std::expected<void, Malformed> RequestParser::take_request_line() {
  line_taken_ = true;
  auto line = http1::parse_request_line(reader_.first_line());
  if (!line) return std::unexpected(std::move(line).error());
  head_.request.method = line->method;
  head_.request.target = line->target;
  head_.http11 = line->http11;
  return {};
}

std::expected<RequestParser::Piece, Malformed> RequestParser::parse_chunked(std::string_view& input,
                                                                            std::span<char> out) {
  auto bytes = chunks_.feed(input, out);
  if (!bytes) return std::unexpected(std::move(bytes).error());
  return Piece{.bytes = *bytes, .done = chunks_.done()};
}

}  // namespace cove::http
