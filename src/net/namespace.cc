#include "net/namespace.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/in6.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "net/link.h"
#include "net/netlink.h"
#include "net/ruleset/names.h"
#include "network_ruleset.h"
#include "sys/file.h"

namespace cove::net {
namespace {

constexpr unsigned kLoopback = 1;  // the first interface of every namespace
// Above the ports that connections get by themselves.
constexpr uint16_t kFirstPort = 61'440;
constexpr uint16_t kLastPort = 65'535;
constexpr uint8_t kLinkTable = 100;
constexpr int kBacklog = 4096;

bool has_ipv6() {
  Result<std::string> disabled = sys::read_file("/proc/sys/net/ipv6/conf/lo/disable_ipv6", 16);
  return disabled && trim(*disabled) == "0";
}

// Without these, one stuck reader holds megabytes of the kernel's memory, and a congestion control that the host
// prefers for its own network slows the loopback interface. Not every kernel has each of them per namespace.
void write_sysctls() {
  constexpr std::pair<const char*, const char*> kValues[] = {
      {"tcp_congestion_control", "reno"}, {"tcp_wmem", "4096 65536 524288"}, {"tcp_rmem", "4096 131072 1048576"}};
  for (const auto& [name, value] : kValues)
    static_cast<void>(sys::poke(concat("/proc/sys/net/ipv4/", std::string_view(name)), value));
}

struct Address {
  int family;
  uint8_t bytes[16];
  uint8_t size;
};

Address address(int family, const char* text) {
  Address address = {family, {}, static_cast<uint8_t>(family == AF_INET ? 4 : 16)};
  ::inet_pton(family, text, address.bytes);
  return address;
}

void bring_up(NetlinkBatch& batch, unsigned interface) {
  ifinfomsg up = {};
  up.ifi_index = static_cast<int>(interface);
  up.ifi_flags = up.ifi_change = IFF_UP;
  batch.begin(RTM_NEWLINK, 0, &up, sizeof up);
}

void add_address(NetlinkBatch& batch, const Address& own) {
  ifaddrmsg header = {};
  header.ifa_family = static_cast<uint8_t>(own.family);
  header.ifa_prefixlen = static_cast<uint8_t>(8 * own.size);
  header.ifa_index = kLoopback;
  header.ifa_flags = own.family == AF_INET6 ? IFA_F_NODAD : 0;  // usable at once
  batch.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(IFA_LOCAL, own.bytes, own.size);
  batch.attribute(IFA_ADDRESS, own.bytes, own.size);
}

// Every address is one of this namespace.
void add_default_route(NetlinkBatch& batch, uint8_t table, const Address* source) {
  rtmsg header = {};
  header.rtm_family = static_cast<uint8_t>(source ? source->family : AF_INET);
  header.rtm_table = table;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_HOST;
  header.rtm_type = RTN_LOCAL;
  const uint32_t interface = kLoopback;
  batch.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(RTA_OIF, &interface, sizeof interface);
  if (source) batch.attribute(RTA_PREFSRC, source->bytes, source->size);
}

Result<void> route_everything(bool ipv6) {
  NetlinkBatch batch;
  bring_up(batch, kLoopback);
  std::vector<Address> own = {address(AF_INET, kSandboxAddress4)};
  if (ipv6) own.push_back(address(AF_INET6, kSandboxAddress6));
  for (const Address& each : own) add_address(batch, each);
  for (const Address& each : own) add_default_route(batch, RT_TABLE_LOCAL, &each);
  return ask(batch, "set addresses and routes", Existing::Accepted);
}

void add_rule_for_link(NetlinkBatch& batch) {
  fib_rule_hdr header = {};
  header.family = AF_INET;
  header.table = kLinkTable;
  header.action = FR_ACT_TO_TBL;
  batch.begin(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(FRA_IIFNAME, kLinkName, std::string_view(kLinkName).size() + 1);
}

// What arrives over the link is for this namespace, whatever its address; answers go back.
Result<void> route_link() {
  const unsigned link = ::if_nametoindex(kLinkName);
  if (link == 0)
    return fail(Error(Code::Unsupported, "this sandbox was created without a network")
                    .hint("with this runtime, a sandbox that is to have a network is created with one"));
  NetlinkBatch batch;
  for (unsigned interface : {unsigned{kLoopback}, link}) bring_up(batch, interface);
  ifaddrmsg own = {};
  own.ifa_family = AF_INET;
  own.ifa_prefixlen = 24;
  own.ifa_index = link;
  const Address gateway = address(AF_INET, kLinkAddress4);
  batch.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &own, sizeof own);
  batch.attribute(IFA_LOCAL, gateway.bytes, gateway.size);
  batch.attribute(IFA_ADDRESS, gateway.bytes, gateway.size);
  add_default_route(batch, kLinkTable, nullptr);
  add_rule_for_link(batch);
  return ask(batch, "set addresses and routes", Existing::Accepted);
}

struct Ruleset {
  std::span<const uint8_t> message;
  std::span<const size_t> ports;
  std::span<const size_t> removal;
};

Ruleset ruleset_for(Programs programs, Steering steering) {
  if (programs == Programs::BehindLink) return {kLinkRuleset, kLinkPorts, kLinkRemoval};
  if (steering == Steering::Tproxy) return {kTproxyRuleset, kTproxyPorts, kTproxyRemoval};
  return {kRedirectRuleset, kRedirectPorts, kRedirectRemoval};
}

// One transaction; the error number, or 0.
Result<int> load(std::span<const uint8_t> message) {
  std::vector<int> errors = COVE_TRY(talk(NETLINK_NETFILTER, message));
  if (errors.empty()) return fail(Code::Internal, "load the nftables ruleset: the kernel did not answer");
  for (int error : errors)
    if (error != 0) return error;
  return 0;
}

// A removal makes the kernel wait for every processor, for milliseconds, so it is tried without one first.
Result<void> load_ruleset(const Ruleset& ruleset, uint16_t port) {
  std::vector<uint8_t> message(ruleset.message.begin(), ruleset.message.end());
  const uint16_t big_endian = htons(port);
  for (size_t place : ruleset.ports) std::memcpy(message.data() + place, &big_endian, sizeof big_endian);
  std::vector<uint8_t> first = message;
  first.erase(first.begin() + static_cast<std::ptrdiff_t>(ruleset.removal[0]),
              first.begin() + static_cast<std::ptrdiff_t>(ruleset.removal[1]));
  int error = COVE_TRY(load(first));
  if (error == EEXIST) error = COVE_TRY(load(message));
  if (error != 0) return fail(Error::from_errno(error, "load the nftables ruleset"));
  return {};
}

bool set(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

Result<UniqueFd> bound_socket(int family, int type, uint16_t port) {
  UniqueFd socket(::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno("open a socket");
  const bool v6 = family == AF_INET6;
  bool good = v6 ? set(socket.get(), SOL_IPV6, IPV6_V6ONLY, 1) && set(socket.get(), SOL_IPV6, IPV6_TRANSPARENT, 1)
                 : set(socket.get(), SOL_IP, IP_TRANSPARENT, 1);
  if (good && type == SOCK_DGRAM)
    good = v6 ? set(socket.get(), SOL_IPV6, IPV6_RECVORIGDSTADDR, 1) : set(socket.get(), SOL_IP, IP_RECVORIGDSTADDR, 1);
  if (!good) return fail_errno("make a socket transparent");
  sockaddr_storage address = {};
  if (v6) {
    auto& six = reinterpret_cast<sockaddr_in6&>(address);
    six = {.sin6_family = AF_INET6,
           .sin6_port = htons(port),
           .sin6_flowinfo = 0,
           .sin6_addr = in6addr_loopback,
           .sin6_scope_id = 0};
  } else {
    auto& four = reinterpret_cast<sockaddr_in&>(address);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }
  const socklen_t size = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) < 0) return fail_errno("bind a socket");
  if (type == SOCK_STREAM && ::listen(socket.get(), kBacklog) < 0) return fail_errno("listen at a socket");
  return socket;
}

// Sends packets with headers of the gateway's own, from any address.
Result<UniqueFd> raw_socket(int family) {
  UniqueFd socket(::socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW));
  if (!socket) return fail_errno("open a raw socket");
  if (!set(socket.get(), SOL_SOCKET, SO_MARK, static_cast<int>(kAnswerMark))) return fail_errno("mark a raw socket");
  if (family == AF_INET6 && !set(socket.get(), SOL_IPV6, IPV6_HDRINCL, 1)) return fail_errno("set IPV6_HDRINCL");
  return socket;
}

using Sockets = NetworkSockets;

Result<void> bind_all(Sockets& sockets, bool ipv6, uint16_t port) {
  sockets.fds[Sockets::kTcp4] = COVE_TRY(bound_socket(AF_INET, SOCK_STREAM, port));
  sockets.fds[Sockets::kUdp4] = COVE_TRY(bound_socket(AF_INET, SOCK_DGRAM, port));
  if (!ipv6) return {};
  sockets.fds[Sockets::kTcp6] = COVE_TRY(bound_socket(AF_INET6, SOCK_STREAM, port));
  sockets.fds[Sockets::kUdp6] = COVE_TRY(bound_socket(AF_INET6, SOCK_DGRAM, port));
  return {};
}

// The port that all of them have: the first one that no program inside uses, nor an earlier gateway.
Result<uint16_t> open_sockets(Sockets& sockets, bool ipv6) {
  sockets.fds[Sockets::kRaw4] = COVE_TRY(raw_socket(AF_INET));
  if (ipv6) sockets.fds[Sockets::kRaw6] = COVE_TRY(raw_socket(AF_INET6));
  for (uint32_t port = kFirstPort; port <= kLastPort; ++port) {
    Result<void> bound = bind_all(sockets, ipv6, static_cast<uint16_t>(port));
    if (bound) return static_cast<uint16_t>(port);
    if (bound.error().errnum() != EADDRINUSE) return std::unexpected(bound.error());
  }
  return fail(Error(Code::Exhausted, "programs inside use every port that the network could have")
                  .hint(concat("end those that listen at ports from ", kFirstPort, " on")));
}

// What a kernel answers that does not have this way.
bool is_missing(const Error& error) {
  const int number = error.errnum();
  return number == ENOENT || number == EOPNOTSUPP || number == EPROTONOSUPPORT || number == EAFNOSUPPORT;
}

Error without_nftables(const Error& error) {
  return Error(Code::Unsupported, concat("a sandbox's network needs nftables: ", error.message()))
      .hint("load the kernel modules nf_tables, nft_tproxy and nft_reject_inet; `cove doctor` shows what is missing");
}

}  // namespace

Result<NetworkSockets> set_up_namespace(Programs programs, Steering steering) {
  const bool behind_link = programs == Programs::BehindLink;
  const bool ipv6 = !behind_link && has_ipv6();
  NetworkSockets sockets;
  sockets.steering = steering;
  write_sysctls();
  // Addresses last: until then, programs inside reach no address at all.
  uint16_t port = COVE_TRY(open_sockets(sockets, ipv6));
  COVE_TRY(load_ruleset(ruleset_for(programs, steering), port));
  COVE_TRY(behind_link ? route_link() : route_everything(ipv6));
  return sockets;
}

Result<NetworkSockets> set_up_namespace(Programs programs) {
  Result<NetworkSockets> sockets = set_up_namespace(programs, Steering::Tproxy);
  if (sockets || !is_missing(sockets.error())) return sockets;
  if (programs == Programs::BehindLink) return fail(without_nftables(sockets.error()));
  Result<NetworkSockets> redirected = set_up_namespace(programs, Steering::Redirect);
  if (!redirected && is_missing(redirected.error())) return fail(without_nftables(sockets.error()));
  return redirected;
}

}  // namespace cove::net
