// Attempts to reach a network, the kernel's own sockets, or sockets of the host.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "testee.h"

namespace {

using namespace testee;

Outcome open_socket(uint64_t family, int type, int protocol) {
  return call(::syscall(SYS_socket, family, type | SOCK_CLOEXEC, protocol));
}

Outcome open_netlink(int protocol) { return open_socket(AF_NETLINK, SOCK_RAW, protocol); }

// 192.0.2.0/24 and 2001:db8::/32 are for documentation: nothing answers there, and nothing must leave.
Outcome connect_inet(const char* text, int type, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, text, &address.sin_addr);
  int socket = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (socket < 0) return denied();
  return call(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

Outcome connect_inet6(const char* text) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(80);
  ::inet_pton(AF_INET6, text, &address.sin6_addr);
  int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return denied();
  return call(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

Outcome connect_unix(const char* name, bool abstract) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  size_t start = abstract ? 1 : 0;
  std::strncpy(address.sun_path + start, name, sizeof address.sun_path - 2);
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + start + std::strlen(name));
  int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return call(::connect(socket, reinterpret_cast<sockaddr*>(&address), size));
}

// Sends one request to route netlink and takes the kernel's acknowledgement.
template <typename Body>
Outcome ask_route(uint16_t type, uint16_t flags, const Body& body) {
  struct {
    nlmsghdr header;
    Body body;
  } request = {};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  request.body = body;
  int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0 || ::send(socket, &request, sizeof request, 0) < 0) return denied();
  struct {
    nlmsghdr header;
    nlmsgerr error;
    char rest[512];
  } answer = {};
  if (::recv(socket, &answer, sizeof answer, 0) < 0) return denied();
  if (answer.header.nlmsg_type != NLMSG_ERROR || answer.error.error == 0) return done();
  return denied(-answer.error.error);
}

Outcome take_loopback_down() {
  ifinfomsg link = {};
  link.ifi_family = AF_UNSPEC;
  link.ifi_index = 1;
  link.ifi_change = IFF_UP;
  return ask_route(RTM_NEWLINK, 0, link);
}

Outcome make_interface() {
  struct {
    ifinfomsg link = {};
    rtattr info = {RTA_LENGTH(10), IFLA_LINKINFO};
    rtattr kind = {RTA_LENGTH(6), IFLA_INFO_KIND};
    char name[8] = "dummy";
  } body;
  return ask_route(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, body);
}

Outcome add_default_route() {
  struct {
    rtmsg route = {.rtm_family = AF_INET,
                   .rtm_table = RT_TABLE_MAIN,
                   .rtm_protocol = RTPROT_BOOT,
                   .rtm_scope = RT_SCOPE_LINK,
                   .rtm_type = RTN_UNICAST};
    rtattr output = {RTA_LENGTH(4), RTA_OIF};
    uint32_t index = 1;
  } body;
  return ask_route(RTM_NEWROUTE, NLM_F_CREATE, body);
}

Outcome add_address() {
  struct {
    ifaddrmsg address = {AF_INET, 24, 0, RT_SCOPE_UNIVERSE, 1};
    rtattr local = {RTA_LENGTH(4), IFA_LOCAL};
    uint32_t value = htonl(0xc0000201);
  } body;
  return ask_route(RTM_NEWADDR, NLM_F_CREATE, body);
}

Outcome foreign_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) < 0) return denied();
  for (ifaddrs* entry = list; entry; entry = entry->ifa_next)
    if (std::strcmp(entry->ifa_name, "lo") != 0) return done("an interface");
  return held("only lo");
}

Outcome change_interface(unsigned long request) {
  int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq change = {};
  std::strcpy(change.ifr_name, "lo");
  change.ifr_addr.sa_family = AF_INET;
  return call(::ioctl(socket, request, &change));
}

Outcome set_option(int level, int option) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char value[128] = {1};
  return call(::setsockopt(socket, level, option, value, level == IPPROTO_IP && option == 64 ? sizeof value : 4));
}

// Claims to be process 1.
Outcome forge_credentials() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0) return denied();
  char byte = 'x';
  iovec vector = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message = {nullptr, 0, &vector, 1, control, sizeof control, 0};
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_CREDENTIALS;
  header->cmsg_len = CMSG_LEN(sizeof(ucred));
  ucred claimed = {1, ::getuid(), ::getgid()};
  std::memcpy(CMSG_DATA(header), &claimed, sizeof claimed);
  return call(::sendmsg(ends[0], &message, 0));
}

constexpr uint64_t kHighBit = 1ull << 32;
constexpr int kPacketAll = 0x0300;  // ETH_P_ALL in network order

constexpr Attempt kAttempts[] = {
    {"raw_icmp", [] { return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }},
    {"raw_ip", [] { return open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW); }},
    {"raw_tcp", [] { return open_socket(AF_INET, SOCK_RAW, IPPROTO_TCP); }},
    {"raw_icmp6", [] { return open_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6); }},
    {"ping", [] { return open_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP); }},
    {"packet_raw", [] { return open_socket(AF_PACKET, SOCK_RAW, kPacketAll); }},
    {"packet_datagram", [] { return open_socket(AF_PACKET, SOCK_DGRAM, kPacketAll); }},
    {"packet_with_high_bits", [] { return open_socket(kHighBit | AF_PACKET, SOCK_RAW, kPacketAll); }},
    {"old_packet", [] { return open_socket(AF_INET, SOCK_PACKET, kPacketAll); }},
    {"netlink_audit", [] { return open_netlink(NETLINK_AUDIT); }},
    {"netlink_uevent", [] { return open_netlink(NETLINK_KOBJECT_UEVENT); }},
    {"netlink_generic", [] { return open_netlink(NETLINK_GENERIC); }},
    {"netlink_netfilter", [] { return open_netlink(NETLINK_NETFILTER); }},
    {"netlink_sock_diag", [] { return open_netlink(NETLINK_SOCK_DIAG); }},
    {"netlink_xfrm", [] { return open_netlink(NETLINK_XFRM); }},
    {"netlink_connector", [] { return open_netlink(NETLINK_CONNECTOR); }},
    {"netlink_crypto", [] { return open_netlink(NETLINK_CRYPTO); }},
    {"netlink_with_high_bits", [] { return open_socket(kHighBit | AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER); }},
    {"vsock", [] { return open_socket(AF_VSOCK, SOCK_STREAM, 0); }},
    {"vsock_with_high_bits", [] { return open_socket(kHighBit | AF_VSOCK, SOCK_STREAM, 0); }},
    {"alg", [] { return open_socket(AF_ALG, SOCK_SEQPACKET, 0); }},
    {"key", [] { return open_socket(AF_KEY, SOCK_RAW, 2); }},
    {"bluetooth", [] { return open_socket(AF_BLUETOOTH, SOCK_RAW, 1); }},
    {"can", [] { return open_socket(AF_CAN, SOCK_RAW, 1); }},
    {"tipc", [] { return open_socket(AF_TIPC, SOCK_RDM, 0); }},
    {"rds", [] { return open_socket(AF_RDS, SOCK_SEQPACKET, 0); }},
    {"xdp", [] { return open_socket(AF_XDP, SOCK_RAW, 0); }},
    {"ax25", [] { return open_socket(AF_AX25, SOCK_DGRAM, 0); }},
    {"appletalk", [] { return open_socket(AF_APPLETALK, SOCK_DGRAM, 0); }},
    {"qipcrtr", [] { return open_socket(AF_QIPCRTR, SOCK_DGRAM, 0); }},
    {"smc", [] { return open_socket(AF_SMC, SOCK_STREAM, 0); }},
    {"take_loopback_down", take_loopback_down},
    {"make_interface", make_interface},
    {"add_default_route", add_default_route},
    {"add_address", add_address},
    {"loopback_flags", [] { return change_interface(SIOCSIFFLAGS); }},
    {"loopback_address", [] { return change_interface(SIOCSIFADDR); }},
    {"foreign_interfaces", foreign_interfaces},
    {"connect_outside", [] { return connect_inet("192.0.2.1", SOCK_STREAM, 80); }},
    {"connect_outside_udp", [] { return connect_inet("192.0.2.1", SOCK_DGRAM, 53); }},
    {"connect_outside_6", [] { return connect_inet6("2001:db8::1"); }},
    {"connect_link_local", [] { return connect_inet("169.254.1.1", SOCK_STREAM, 80); }},
    {"connect_host_port",
     [] { return connect_inet("127.0.0.1", SOCK_STREAM, static_cast<uint16_t>(std::atoi(setting("HOST_PORT")))); }},
    {"connect_host_abstract", [] { return connect_unix(setting("HOST_ABSTRACT"), true); }},
    {"connect_host_path", [] { return connect_unix(setting("HOST_SOCKET"), false); }},
    {"connect_host_run_path", [] { return connect_unix(setting("HOST_RUN_SOCKET"), false); }},
    {"mark_packets", [] { return set_option(SOL_SOCKET, SO_MARK); }},
    {"transparent_proxy", [] { return set_option(IPPROTO_IP, IP_TRANSPARENT); }},
    {"replace_iptables", [] { return set_option(IPPROTO_IP, 64); }},
    {"force_send_buffer", [] { return set_option(SOL_SOCKET, SO_SNDBUFFORCE); }},
    {"forge_credentials", forge_credentials},
};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, kAttempts); }
