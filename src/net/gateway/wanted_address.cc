#include "net/gateway/wanted_address.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace cove::net {
namespace {

// SO_ORIGINAL_DST of <linux/netfilter_ipv4.h>, which does not go together with <netinet/in.h>, and of IPv6.
constexpr int kOriginal = 80;

Wanted from_v4(const sockaddr_in& from) {
  Wanted wanted;
  wanted.address.bytes[10] = wanted.address.bytes[11] = 0xff;
  std::memcpy(wanted.address.bytes.data() + 12, &from.sin_addr, sizeof from.sin_addr);
  wanted.port = ntohs(from.sin_port);
  return wanted;
}

Wanted from_v6(const sockaddr_in6& from) {
  Wanted wanted;
  std::memcpy(wanted.address.bytes.data(), &from.sin6_addr, wanted.address.bytes.size());
  wanted.port = ntohs(from.sin6_port);
  return wanted;
}

bool read_original(int connection, sockaddr_storage& address) {
  int level = address.ss_family == AF_INET ? int{SOL_IP} : int{SOL_IPV6};
  socklen_t size = sizeof address;
  return ::getsockopt(connection, level, kOriginal, &address, &size) == 0;
}

}  // namespace

Result<Wanted> wanted_address(int connection, Steering steering) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (::getsockname(connection, reinterpret_cast<sockaddr*>(&address), &size) < 0) return fail_errno("getsockname");
  // Without an entry of the connection tracker, it was made to the listener itself.
  if (steering == Steering::Redirect) read_original(connection, address);
  if (address.ss_family == AF_INET) return from_v4(reinterpret_cast<sockaddr_in&>(address));
  if (address.ss_family == AF_INET6) return from_v6(reinterpret_cast<sockaddr_in6&>(address));
  return fail(Code::Internal, "a connection of another family");
}

}  // namespace cove::net
