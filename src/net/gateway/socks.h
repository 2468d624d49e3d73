#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "net/rule.h"

namespace cove::net {

// The server's side of SOCKS5 (RFC 1928) up to the request, as bytes. Asks for no password, and takes any (RFC 1929)
// from those that insist on giving one.
class SocksReader {
 public:
  enum class Reply : uint8_t {
    Granted = 0,
    Failed = 1,
    Denied = 2,
    HostUnreachable = 4,
    CommandUnsupported = 7,
    AddressUnsupported = 8,
  };
  struct Request {
    std::string host;  // as it was sent, without NUL; empty where there is an address
    std::optional<Address> address;
    uint16_t port = 0;
  };
  enum class State { NeedsMore, Done, Failed };
  struct Step {
    State state = State::NeedsMore;
    std::string reply;  // to be sent now, whatever the state
    std::string why;    // of State::Failed
  };

  // Takes bytes off the front of `input`, never more than the request's.
  Step feed(std::string_view& input);
  const Request& request() const { return request_; }  // once done; of a failure, what is known

  static std::string reply(Reply code);

 private:
  enum class Stage { Greeting, Password, Request };
  Step take_greeting();
  Step take_password();
  Step take_request();
  std::optional<size_t> size_of_stage() const;  // of what `begun_` begins; nothing: more bytes are needed to know
  void note_place(std::string_view request);
  static Step fail(std::string reply, std::string why);

  Stage stage_ = Stage::Greeting;
  std::string begun_;
  Request request_;
};

}  // namespace cove::net
