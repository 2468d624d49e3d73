#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"

namespace cove::http {

// Now, as the Date header has it.
const std::string& http_date();

// The first bytes of an answer. `Content-Length`, `Transfer-Encoding` and `Connection` among the headers are left out:
// they follow from how the answer is sent.
class AnswerHead {
 public:
  explicit AnswerHead(int status);
  AnswerHead& add(const Headers& headers);
  AnswerHead& add(std::string_view name, std::string_view value);
  // All of it, with the empty line.
  std::string take() { return writer_.take(); }

 private:
  http1::HeadWriter writer_;
};

}  // namespace cove::http
