#include "http1/request.h"

namespace cove::http1 {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// One that HTTP could have.
bool is_version(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && is_digit(text[5]) && text[6] == '.' && is_digit(text[7]);
}

bool is_target(std::string_view text) { return !text.empty() && text.find_first_of(" \t") == std::string_view::npos; }

}  // namespace

std::expected<RequestLine, Malformed> parse_request_line(std::string_view line) {
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return malformed("the request line has not three parts");
  RequestLine parts{line.substr(0, first), line.substr(first + 1, last - first - 1), true};
  std::string_view version = line.substr(last + 1);
  if (!is_token(parts.method)) return malformed("the request's method is malformed");
  if (!is_target(parts.target)) return malformed("the request's target is malformed");
  if (!is_version(version)) return malformed("the request's version is malformed");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return malformed(505, "the version is not HTTP/1.1 or HTTP/1.0");
  parts.http11 = version == "HTTP/1.1";
  return parts;
}

}  // namespace cove::http1
