#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/gateway/client_hello.h"
#include "net/gateway/opening.h"

namespace cove::net {

// Collects the first bytes of a connection until it is known what they are. Pure: no descriptors, no time.
class OpeningReader {
 public:
  static constexpr size_t kMost = HelloReader::kMost;
  enum class State { NeedsMore, Tls, BrokenTls, Http, Http2, Query, Other };

  explicit OpeningReader(const HelloParser& parser) : parser_(&parser) {}

  State add(std::string_view bytes, Server server);
  // The program sends no more.
  State end() const;
  const Hello& hello() const { return hello_; }  // of State::Tls
  const std::string& bytes() const { return bytes_; }
  std::string take_bytes() { return std::move(bytes_); }
  // Of State::NeedsMore: whether it is text that could become a request, and neither TLS nor a query.
  bool reads_text() const { return !reader_ && !bytes_.empty() && bytes_[0] != '\0'; }
  // After State::Query: those bytes; what follows them is looked at with `add("")`.
  std::string take_query();

 private:
  State read_hello(std::string_view bytes);

  const HelloParser* parser_;
  std::string bytes_;
  std::unique_ptr<HelloReader> reader_;
  Hello hello_;
};

}  // namespace cove::net
