#pragma once

#include <string>
#include <string_view>

#include "base/encoding.h"
#include "base/text.h"

namespace cove::client {

// The path and query of a request: Target("/v1/sandboxes").part(id).part("files").query("path", "/a b").
class Target {
 public:
  explicit Target(std::string_view path) : text_(path) {}

  Target& part(std::string_view name) {
    text_ += concat("/", percent_encode(name));
    return *this;
  }
  // Nothing where the value is empty.
  Target& query(std::string_view name, std::string_view value) {
    if (value.empty()) return *this;
    text_ += concat(asked_ ? '&' : '?', name, "=", percent_encode(value));
    asked_ = true;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool asked_ = false;
};

}  // namespace cove::client
