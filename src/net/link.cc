#include "net/link.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include <cstdint>
#include <string_view>

#include "net/netlink.h"
#include "net/sockets.h"

namespace cove::net {
namespace {

constexpr int kLoopback = 1;
constexpr int kOwn = 2;  // the first interface that is added
constexpr uint8_t kPrefix = 24;

uint32_t number_of(const char* address) {
  in_addr number = {};
  ::inet_pton(AF_INET, address, &number);
  return number.s_addr;
}

void add_pair(NetlinkBatch& batch, int other_namespace) {
  constexpr std::string_view kKind = "veth";
  ifinfomsg header = {};
  header.ifi_index = kOwn;
  batch.begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(IFLA_IFNAME, "eth0", sizeof "eth0");
  const ifinfomsg other = {};
  Attributes peer(&other, sizeof other);
  peer.add(IFLA_IFNAME, kLinkName, std::string_view(kLinkName).size() + 1);
  peer.add(IFLA_NET_NS_FD, &other_namespace, sizeof other_namespace);
  Attributes data;
  data.add(VETH_INFO_PEER, peer);
  Attributes info;
  info.add(IFLA_INFO_KIND, kKind.data(), kKind.size());
  info.add(IFLA_INFO_DATA, data);
  batch.attribute(IFLA_LINKINFO, info.bytes().data(), info.bytes().size());
}

void bring_up(NetlinkBatch& batch, int interface) {
  ifinfomsg up = {};
  up.ifi_index = interface;
  up.ifi_flags = up.ifi_change = IFF_UP;
  batch.begin(RTM_NEWLINK, 0, &up, sizeof up);
}

void add_address(NetlinkBatch& batch) {
  const uint32_t own = number_of(kSandboxAddress4);
  ifaddrmsg header = {};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = kPrefix;
  header.ifa_index = kOwn;
  batch.begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(IFA_LOCAL, &own, sizeof own);
  batch.attribute(IFA_ADDRESS, &own, sizeof own);
}

void add_default_route(NetlinkBatch& batch) {
  const uint32_t gateway = number_of(kLinkAddress4);
  rtmsg header = {};
  header.rtm_family = AF_INET;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_UNICAST;
  batch.begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &header, sizeof header);
  batch.attribute(RTA_GATEWAY, &gateway, sizeof gateway);
}

}  // namespace

Result<void> link_to(int other_namespace) {
  NetlinkBatch batch;
  add_pair(batch, other_namespace);
  bring_up(batch, kLoopback);
  bring_up(batch, kOwn);
  add_address(batch);
  add_default_route(batch);
  return ask(batch, "connect the namespaces", Existing::Refused);
}

}  // namespace cove::net
