#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;

namespace cove::net {

// What a ClientHello says of the server that is wanted.
struct Hello {
  std::string name;        // of the extension server_name, as it was sent; empty: none
  bool encrypted = false;  // with an Encrypted ClientHello, which hides the name that is meant
};

// Reads ClientHello messages with OpenSSL's own parser; shared by all of them.
class HelloParser {
 public:
  static Result<HelloParser> create();
  SSL_CTX* context() const { return context_.get(); }

 private:
  explicit HelloParser(SSL_CTX* context);
  std::shared_ptr<SSL_CTX> context_;
};

// One ClientHello that arrives in pieces: split over packets and records, up to kMost bytes.
class HelloReader {
 public:
  static constexpr size_t kMost = 160 * 1024;
  enum class State { NeedsMore, Complete, Broken };

  explicit HelloReader(const HelloParser& parser);
  ~HelloReader();
  HelloReader(const HelloReader&) = delete;
  HelloReader& operator=(const HelloReader&) = delete;

  // The next bytes. Broken where OpenSSL would refuse them.
  State add(std::string_view bytes);
  const Hello& hello() const { return hello_; }

 private:
  friend class HelloParser;
  SSL* session_ = nullptr;
  Hello hello_;
  bool complete_ = false;
  size_t size_ = 0;
};

// A fatal alert that refuses a connection before its handshake: access_denied.
extern const std::string_view kAccessDenied;

}  // namespace cove::net
