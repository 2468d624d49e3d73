#pragma once

#include <sys/socket.h>

#include <string>

namespace cove {

// Whether it is an address of the public Internet: not of this machine, its link, or a private or shared network, and
// not an IPv6 address that embeds one of those. False for other address families.
bool is_public_address(const sockaddr& address);

// "127.0.0.1:80", "[::1]:80".
std::string address_text(const sockaddr& address);

}  // namespace cove
