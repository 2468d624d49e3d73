#pragma once

#include <expected>
#include <string_view>

#include "http1/framing.h"
#include "http1/head.h"

namespace cove::http1 {

struct ResponseHead {
  int status = 0;
  Headers headers;
  bool http11 = true;
  bool keeps_alive = true;

  // The value of the first header of that name, in any case; empty where there is none.
  std::string_view header(std::string_view name) const;
};

// A head that a reader has whole.
std::expected<ResponseHead, Malformed> parse_response_head(HeadReader& reader);
// How its body comes, of an answer to a request with that method.
std::expected<Framing, Malformed> framing_of(const ResponseHead& head, std::string_view method);

}  // namespace cove::http1
