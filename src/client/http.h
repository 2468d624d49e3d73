#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/address.h"
#include "client/body.h"
#include "client/connection.h"

namespace cove::client {

// Who asks.
struct Identity {
  std::string api_key;  // for TCP
  std::string project;  // empty: the default one
};

struct Request {
  std::string method = "GET";
  std::string target;  // path and query
  http1::Headers headers;
  std::optional<std::string> body;
  // A body that is made while it is sent, in place of `body`; with its length, where that is known.
  std::function<Result<void>(BodyWriter&)> produce;
  std::optional<uint64_t> length;
  Progress progress;  // of what is sent
};

// The head of the next answer; announcements (100 and the like) are passed over.
Result<ResponseHead> receive_head(Connection& connection);

struct Response {
  ResponseHead head;
  std::string body;
};

// HTTP/1.1 to one server over one connection, which is kept for the next request. Blocking; one thread. An answer of
// 400 or more is an Error with what the problem document says.
class Http {
 public:
  Http(Address address, Identity identity) : address_(std::move(address)), identity_(std::move(identity)) {}

  Result<Response> fetch(const Request& request);
  // The body follows in body(). What is left of it is given up with the next request.
  Result<ResponseHead> open(const Request& request);
  Body& body() { return body_; }
  // Of a connection of its own: a switch of protocols (101). The rest is the caller's.
  Result<std::unique_ptr<Connection>> upgrade(const Request& request, ResponseHead& head) const;

  // How long the server may be silent; negative: for ever.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  const Address& address() const { return address_; }
  const Identity& identity() const { return identity_; }
  // The head of a request as it is sent.
  std::string head_of(const Request& request) const;
  // What the server says of its version in its last answer; empty where it said nothing.
  const std::string& server_version() const { return server_version_; }
  // The process that listens, of a Unix socket that is connected to.
  Result<pid_t> peer() const;
  Result<void> connect();

 private:
  Result<ResponseHead> exchange(const Request& request);
  Result<void> send(Connection& connection, const Request& request) const;
  bool usable() const;

  Address address_;
  Identity identity_;
  std::chrono::milliseconds patience_{-1};
  std::unique_ptr<Connection> connection_;  // on the heap: body_ points to it
  Body body_;
  bool reusable_ = false;
  std::string server_version_;
};

}  // namespace cove::client
