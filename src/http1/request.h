#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "http1/head.h"

namespace cove::http1 {

struct RequestLine {
  std::string_view method;
  std::string_view target;
  bool http11 = true;
};
// "GET /path HTTP/1.1", as views of the line. 505 for versions that are neither 1.1 nor 1.0.
std::expected<RequestLine, Malformed> parse_request_line(std::string_view line);

}  // namespace cove::http1
