#pragma once

#include <sys/socket.h>

#include <vector>

namespace cove {

// The addresses of the proxies that libcurl takes from the environment (`https_proxy` and the like), as they resolve
// now. One whose name does not resolve is left out.
std::vector<sockaddr_storage> find_proxies();

// Whether the address, with its port, is one of these.
bool has_address(const std::vector<sockaddr_storage>& addresses, const sockaddr& address);

}  // namespace cove
