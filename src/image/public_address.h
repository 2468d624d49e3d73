#pragma once

#include <sys/socket.h>

#include <string>

namespace cove {

// Whether it is an address of the public Internet: not of this machine, of its link, of a private or shared network,
// and not one that IPv6 wraps around such a one. False for what is no IP address.
bool is_public_address(const sockaddr& address);

// "127.0.0.1:80", "[::1]:80".
std::string address_text(const sockaddr& address);

}  // namespace cove
