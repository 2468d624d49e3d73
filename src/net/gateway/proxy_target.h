#pragma once

#include <string>
#include <string_view>

#include "http1/head.h"
#include "net/gateway/names.h"
#include "net/policy.h"

namespace cove::net {

// What the host and port that a program named to a proxy mean: a name, or an address where it is written as one. A
// synthetic address is its name. Invalid: what is neither ("0x7f.1", NUL, port 0).
Result<Target> proxy_target(std::string_view host, uint16_t port, NameTable& names);
Result<Target> proxy_target(const Address& address, uint16_t port, NameTable& names);
// The target of a CONNECT request. Invalid where a Host beside it is another one.
Result<Target> connect_target(http1::HeadReader& head, NameTable& names);
// http://cove.internal/ by its name or its address.
bool is_internal_page(const Target& target);

// A host of a target that is none, as it may be logged: printable, and short.
std::string shown_host(std::string_view host);

}  // namespace cove::net
