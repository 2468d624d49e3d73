// Networks, the kernel's own sockets, and sockets of the host.
#include "security/attempts.h"

namespace cove::test {
namespace {

constexpr Expectation kSocketExpectations[] = {
    {"raw_icmp", "EPERM"},
    {"raw_ip", "EPERM"},
    {"raw_tcp", "EPERM"},
    {"raw_icmp6", "EPERM"},
    {"ping", "EACCES"},
    {"packet_raw", "EPERM"},
    {"packet_datagram", "EPERM"},
    {"packet_with_high_bits", "EPERM"},
    {"old_packet", "EPERM"},
    {"netlink_audit", "EPERM"},
    {"netlink_uevent", "EPERM"},
    {"netlink_generic", "EPERM"},
    {"netlink_netfilter", "EPERM"},
    {"netlink_sock_diag", "EPERM"},
    {"netlink_xfrm", "EPERM"},
    {"netlink_connector", "EPERM"},
    {"netlink_crypto", "EPERM"},
    {"netlink_with_high_bits", "EPERM"},
    {"vsock", "EPERM"},
    {"vsock_with_high_bits", "EPERM"},
    {"alg", "EPERM"},
    {"key", "EPERM"},
    {"bluetooth", "EPERM"},
    {"can", "EPERM"},
    {"tipc", "EPERM"},
    {"rds", "EPERM"},
    {"xdp", "EPERM"},
    {"ax25", "EPERM"},
    {"appletalk", "EPERM"},
    {"qipcrtr", "EPERM"},
    {"smc", "EPERM"},
    {"take_loopback_down", "EPERM"},
    {"make_interface", "EPERM"},
    {"add_default_route", "EPERM"},
    {"add_address", "EPERM"},
    {"loopback_flags", "EPERM"},
    {"loopback_address", "EPERM"},
    {"foreign_interfaces", "held"},
    {"connect_outside", "ENETUNREACH"},
    {"connect_outside_udp", "ENETUNREACH"},
    {"connect_outside_6", "ENETUNREACH|EADDRNOTAVAIL"},
    {"connect_link_local", "ENETUNREACH"},
    {"connect_host_port", "ECONNREFUSED"},
    {"connect_host_abstract", "ECONNREFUSED"},
    {"connect_host_path", "absent"},
    {"connect_host_run_path", "absent"},
    {"mark_packets", "EPERM"},
    {"transparent_proxy", "EPERM"},
    {"replace_iptables", "EPERM"},
    {"force_send_buffer", "EPERM"},
    {"forge_credentials", "EPERM"},
};

const Theme kSocket{"socket", kSocketExpectations};
COVE_ATTEMPTS(Socket, kSocket);

}  // namespace
}  // namespace cove::test
