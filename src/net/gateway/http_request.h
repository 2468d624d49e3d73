#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "http1/framing.h"
#include "http1/head.h"
#include "net/gateway/placeholder.h"
#include "net/rule.h"

namespace cove::net {

// Whom a request is for, as its Host or its absolute target says it.
struct RequestedHost {
  std::string name;  // normalized; empty: an address
  std::optional<Address> address;
  std::optional<uint16_t> port;  // where it is written
};
// "example.org:8080", "[::1]". Refused: user information, and numbers that some take for an address.
std::expected<RequestedHost, http1::Malformed> parse_requested_host(std::string_view text);

// A request of a program inside, read as strictly as can be: whatever two servers could take in two ways is refused.
struct HttpRequest {
  std::string method;
  std::string path;                        // without the query
  RequestHead head;                        // the target in origin form, and all headers
  std::optional<RequestedHost> requested;  // none in HTTP/1.0 without Host
  std::string host;                        // the Host to send
  http1::Framing framing;
  bool http11 = true;
  bool keeps_alive = true;
  bool expects_continue = false;
  bool websocket = false;
};
enum class TargetForm { Origin, Absolute };
std::expected<HttpRequest, http1::Malformed> parse_request(http1::HeadReader& reader, TargetForm form);

// How the head goes on to the server.
struct ForwardedHead {
  bool identity = false;    // answers must not be compressed
  bool whole = false;       // answers must not be a part of what is asked for
  bool keeps_alive = true;  // another request may follow
};
// Without headers of the connection and of proxies, with those that this connection needs.
std::string forwarded_head(const HttpRequest& request, const RequestHead& head, ForwardedHead how);

// Headers that are for one connection only, or that Connection names.
bool is_for_connection(const http1::Headers& headers, std::string_view name);

}  // namespace cove::net
