#include "net/own_addresses.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace cove::net {
namespace {

struct RouteRequest {
  nlmsghdr header;
  rtmsg route;
  rtattr attribute;
  uint8_t address[16];
};

RouteRequest route_request(const Address& address, uint32_t number) {
  const bool v4 = address.is_v4();
  const size_t size = v4 ? 4 : 16;
  RouteRequest request = {};
  request.attribute = {static_cast<uint16_t>(RTA_LENGTH(size)), RTA_DST};
  std::memcpy(request.address, address.bytes.data() + (16 - size), size);
  request.route.rtm_family = v4 ? AF_INET : AF_INET6;
  request.route.rtm_dst_len = static_cast<uint8_t>(8 * size);
  request.header = {static_cast<uint32_t>(offsetof(RouteRequest, address) + size), RTM_GETROUTE, NLM_F_REQUEST, number,
                    0};
  return request;
}

// An address without a route cannot be reached, and is not ours.
bool is_unreachable(int error) { return error == ENETUNREACH || error == EHOSTUNREACH; }

bool is_own(const nlmsghdr& answer, ssize_t size) {
  if (size < static_cast<ssize_t>(sizeof answer) || answer.nlmsg_len > static_cast<size_t>(size)) return true;
  if (answer.nlmsg_type == NLMSG_ERROR && answer.nlmsg_len >= NLMSG_LENGTH(sizeof(nlmsgerr)))
    return !is_unreachable(-static_cast<const nlmsgerr*>(NLMSG_DATA(&answer))->error);
  if (answer.nlmsg_type != RTM_NEWROUTE || answer.nlmsg_len < NLMSG_LENGTH(sizeof(rtmsg))) return true;
  auto type = static_cast<const rtmsg*>(NLMSG_DATA(&answer))->rtm_type;
  return type == RTN_LOCAL || type == RTN_BROADCAST || type == RTN_ANYCAST || type == RTN_MULTICAST;
}

}  // namespace

Result<OwnAddresses> OwnAddresses::open() {
  UniqueFd routes(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!routes) return fail_errno("socket NETLINK_ROUTE");
  sockaddr_nl kernel = {};
  kernel.nl_family = AF_NETLINK;
  if (::connect(routes.get(), reinterpret_cast<sockaddr*>(&kernel), sizeof kernel) < 0)
    return fail_errno("connect to NETLINK_ROUTE");
  return OwnAddresses(std::move(routes));
}

bool OwnAddresses::contains(const Address& address) const {
  const RouteRequest request = route_request(address, ++last_);
  if (::send(routes_.get(), &request, request.header.nlmsg_len, 0) < 0) return true;
  // The kernel has answered when the request was sent. Answers to earlier requests may be left over.
  alignas(nlmsghdr) char buffer[4096];
  for (;;) {
    ssize_t size = ::recv(routes_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0) return true;
    const auto& answer = *reinterpret_cast<const nlmsghdr*>(buffer);
    if (answer.nlmsg_seq == request.header.nlmsg_seq) return is_own(answer, size);
  }
}

}  // namespace cove::net
