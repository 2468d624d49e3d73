#pragma once

#include <sys/socket.h>

#include <vector>

namespace cove {

// The current addresses of the proxies that libcurl takes from the environment (`https_proxy` and similar). Proxies
// whose names do not resolve are skipped.
std::vector<sockaddr_storage> find_proxies();

// Whether the address, with its port, is one of these.
bool has_address(const std::vector<sockaddr_storage>& addresses, const sockaddr& address);

}  // namespace cove
