// Writes the nftables rulesets of a sandbox's namespace as netlink messages, so that setting one up needs neither
// libnftables nor its compiler. A message replaces what is there in one transaction.
#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "net/ruleset/names.h"
#include "net/sockets.h"

namespace cove::net {
namespace {

constexpr const char* kTable = "cove";
constexpr size_t kLargest = 64 * 1024;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "generate_ruleset: %s failed\n", what);
  std::exit(1);
}

enum class Family { V4, V6 };

using Bytes = std::vector<uint8_t>;

Bytes address(Family family, const char* text) {
  Bytes bytes(family == Family::V4 ? 4 : 16);
  check(inet_pton(family == Family::V4 ? AF_INET : AF_INET6, text, bytes.data()) == 1, text);
  return bytes;
}

Bytes port(uint16_t number) { return {static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)}; }

// One rule, expression by expression; the register holds what the next comparison looks at.
class Rule {
 public:
  explicit Rule(const char* chain) : rule_(nftnl_rule_alloc()) {
    nftnl_rule_set_u32(rule_, NFTNL_RULE_FAMILY, NFPROTO_INET);
    nftnl_rule_set_str(rule_, NFTNL_RULE_TABLE, kTable);
    nftnl_rule_set_str(rule_, NFTNL_RULE_CHAIN, chain);
  }
  Rule(Rule&& other) noexcept : rule_(std::exchange(other.rule_, nullptr)) {}
  Rule& operator=(Rule&&) = delete;
  ~Rule() {
    if (rule_) nftnl_rule_free(rule_);
  }

  Rule&& marked() && {
    load_meta(NFT_META_MARK);
    const uint32_t mark = kAnswerMark;
    compare(NFT_CMP_EQ, &mark, sizeof mark);
    return std::move(*this);
  }
  Rule&& protocol(uint8_t number) && {
    load_meta(NFT_META_L4PROTO);
    compare(NFT_CMP_EQ, &number, 1);
    return std::move(*this);
  }
  Rule&& family(Family family) && {
    load_meta(NFT_META_NFPROTO);
    const uint8_t number = family == Family::V4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
    compare(NFT_CMP_EQ, &number, 1);
    return std::move(*this);
  }
  // The first bytes of the destination address.
  Rule&& to(Family kind, const Bytes& prefix) && {
    Rule&& self = std::move(*this).family(kind);
    load_payload(NFT_PAYLOAD_NETWORK_HEADER, kind == Family::V4 ? 16 : 24, static_cast<uint32_t>(prefix.size()));
    compare(NFT_CMP_EQ, prefix.data(), static_cast<uint32_t>(prefix.size()));
    return std::move(self);
  }
  Rule&& to_port(uint16_t number) && {
    load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2);
    compare(NFT_CMP_EQ, port(number).data(), 2);
    return std::move(*this);
  }
  // TCP segments other than the first one of a connection.
  Rule&& established() && {
    constexpr uint32_t kFlags = 13;
    constexpr uint8_t kSynAck = 0x12, kSyn = 0x02, kNothing = 0;
    Rule&& self = std::move(*this).protocol(IPPROTO_TCP);
    load_payload(NFT_PAYLOAD_TRANSPORT_HEADER, kFlags, 1);
    nftnl_expr* mask = expression("bitwise");
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_LEN, 1);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_MASK, &kSynAck, 1);
    nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_XOR, &kNothing, 1);
    compare(NFT_CMP_NEQ, &kSyn, 1);
    return std::move(self);
  }

  Rule&& accept() && {
    nftnl_expr* verdict = expression("immediate");
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(verdict, NFTNL_EXPR_IMM_VERDICT, NF_ACCEPT);
    return std::move(*this);
  }
  Rule&& tproxy(Family family) && {
    load(NFT_REG_1, address(family, family == Family::V4 ? "127.0.0.1" : "::1"));
    load(NFT_REG_2, port(kPortPlaceholder));
    nftnl_expr* steer = expression("tproxy");
    nftnl_expr_set_u32(steer, NFTNL_EXPR_TPROXY_FAMILY, family == Family::V4 ? NFPROTO_IPV4 : NFPROTO_IPV6);
    nftnl_expr_set_u32(steer, NFTNL_EXPR_TPROXY_REG_ADDR, NFT_REG_1);
    nftnl_expr_set_u32(steer, NFTNL_EXPR_TPROXY_REG_PORT, NFT_REG_2);
    return std::move(*this).accept();
  }
  Rule&& redirect() && {
    load(NFT_REG_1, port(kPortPlaceholder));
    nftnl_expr* steer = expression("redir");
    nftnl_expr_set_u32(steer, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
    return std::move(*this);
  }
  Rule&& arriving_at(const char* interface) && {
    char name[16] = {};
    std::strcpy(name, interface);
    load_meta(NFT_META_IIFNAME);
    compare(NFT_CMP_EQ, name, sizeof name);
    return std::move(*this);
  }
  Rule&& reset() && {
    nftnl_expr* refusal = expression("reject");
    nftnl_expr_set_u32(refusal, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_TCP_RST);
    return std::move(*this);
  }
  Rule&& reject() && {
    nftnl_expr* refusal = expression("reject");
    nftnl_expr_set_u32(refusal, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
    nftnl_expr_set_u8(refusal, NFTNL_EXPR_REJECT_CODE, NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
    return std::move(*this);
  }

  nftnl_rule* get() const { return rule_; }

 private:
  nftnl_expr* expression(const char* name) {
    nftnl_expr* made = nftnl_expr_alloc(name);
    check(made != nullptr, name);
    nftnl_rule_add_expr(rule_, made);
    return made;
  }
  void load_meta(uint32_t key) {
    nftnl_expr* meta = expression("meta");
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
  }
  void load_payload(uint32_t base, uint32_t offset, uint32_t size) {
    nftnl_expr* payload = expression("payload");
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_BASE, base);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_LEN, size);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
  }
  void load(uint32_t reg, const Bytes& bytes) {
    nftnl_expr* value = expression("immediate");
    nftnl_expr_set_u32(value, NFTNL_EXPR_IMM_DREG, reg);
    nftnl_expr_set(value, NFTNL_EXPR_IMM_DATA, bytes.data(), static_cast<uint32_t>(bytes.size()));
  }
  void compare(uint32_t how, const void* data, uint32_t size) {
    nftnl_expr* comparison = expression("cmp");
    nftnl_expr_set_u32(comparison, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(comparison, NFTNL_EXPR_CMP_OP, how);
    nftnl_expr_set(comparison, NFTNL_EXPR_CMP_DATA, data, size);
  }

  nftnl_rule* rule_;
};

struct Ruleset {
  Bytes message;
  size_t removal_begin;
  size_t removal_end;
};

// A transaction.
class Batch {
 public:
  Batch() : buffer_(kLargest), batch_(mnl_nlmsg_batch_start(buffer_.data(), kLargest / 2)) {
    nftnl_batch_begin(place(), sequence_++);
    next();
  }
  ~Batch() { mnl_nlmsg_batch_stop(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // A removal of what is there; making it first lets that succeed where there is nothing. Then the table, which must
  // not be there.
  void replace_table() {
    removal_begin_ = size();
    add_table(NFT_MSG_NEWTABLE, NLM_F_CREATE);
    add_table(NFT_MSG_DELTABLE, 0);
    removal_end_ = size();
    add_table(NFT_MSG_NEWTABLE, NLM_F_CREATE | NLM_F_EXCL);
  }
  void add_chain(const char* name, const char* type, uint32_t hook, int32_t priority) {
    nftnl_chain* chain = nftnl_chain_alloc();
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, kTable);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, name);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, type);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, hook);
    nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, priority);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
    nftnl_chain_nlmsg_build_payload(begin(NFT_MSG_NEWCHAIN, NLM_F_CREATE), chain);
    nftnl_chain_free(chain);
    next();
  }
  enum class Place { Middle, Last };
  void add(const Rule& rule, Place where = Place::Middle) {
    // The acknowledgement of the last rule comes when everything is in force.
    const int last = where == Place::Last ? NLM_F_ACK : 0;
    nftnl_rule_nlmsg_build_payload(begin(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND | last), rule.get());
    next();
  }

  Ruleset finish() {
    nftnl_batch_end(place(), sequence_++);
    next();
    const auto* first = static_cast<const uint8_t*>(mnl_nlmsg_batch_head(batch_));
    return {Bytes(first, first + size()), removal_begin_, removal_end_};
  }

 private:
  size_t size() { return mnl_nlmsg_batch_size(batch_); }
  void add_table(int what, int flags) {
    nftnl_table* table = nftnl_table_alloc();
    nftnl_table_set_str(table, NFTNL_TABLE_NAME, kTable);
    nftnl_table_nlmsg_build_payload(begin(what, flags), table);
    nftnl_table_free(table);
    next();
  }
  char* place() { return static_cast<char*>(mnl_nlmsg_batch_current(batch_)); }
  nlmsghdr* begin(int type, int flags) {
    return nftnl_nlmsg_build_hdr(place(), static_cast<uint16_t>(type), NFPROTO_INET, static_cast<uint16_t>(flags),
                                 sequence_++);
  }
  void next() { check(mnl_nlmsg_batch_next(batch_), "a ruleset of this size"); }

  std::vector<char> buffer_;
  mnl_nlmsg_batch* batch_;
  uint32_t sequence_ = 0;
  size_t removal_begin_ = 0;
  size_t removal_end_ = 0;
};

constexpr uint16_t kDns = 53;
struct Own {
  Family family;
  Bytes prefix;
};

// The addresses at which programs inside talk to each other.
std::vector<Own> own_addresses() {
  return {{Family::V4, {127}},
          {Family::V4, address(Family::V4, kSandboxAddress4)},
          {Family::V6, address(Family::V6, "::1")},
          {Family::V6, address(Family::V6, kSandboxAddress6)}};
}

// Programs that ask for names at their own loopback address.
std::vector<Own> own_resolvers() {
  return {{Family::V4, address(Family::V4, "127.0.0.1")}, {Family::V6, address(Family::V6, "::1")}};
}

void accept_own(Batch& batch, const char* chain) {
  for (const Own& own : own_addresses()) batch.add(Rule(chain).to(own.family, own.prefix).accept());
}

// What is neither TCP nor UDP goes nowhere; this says so at once.
void refuse_rest(Batch& batch, const std::vector<uint16_t>& udp_ports) {
  constexpr const char* kChain = "out";
  batch.add_chain(kChain, "filter", NF_INET_LOCAL_OUT, 0);
  batch.add(Rule(kChain).marked().accept());
  batch.add(Rule(kChain).protocol(IPPROTO_TCP).accept());
  if (udp_ports.empty()) batch.add(Rule(kChain).protocol(IPPROTO_UDP).accept());
  for (uint16_t number : udp_ports) batch.add(Rule(kChain).protocol(IPPROTO_UDP).to_port(number).accept());
  accept_own(batch, kChain);
  batch.add(Rule(kChain).reject(), Batch::Place::Last);
}

Ruleset tproxy_ruleset() {
  constexpr const char* kChain = "steer";
  constexpr int32_t kMangle = -150;
  Batch batch;
  batch.replace_table();
  batch.add_chain(kChain, "filter", NF_INET_PRE_ROUTING, kMangle);
  batch.add(Rule(kChain).marked().accept());
  batch.add(Rule(kChain).established().accept());
  for (uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP})
    for (const Own& own : own_resolvers())
      batch.add(Rule(kChain).to(own.family, own.prefix).protocol(protocol).to_port(kDns).tproxy(own.family));
  accept_own(batch, kChain);
  for (uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP})
    for (Family family : {Family::V4, Family::V6})
      batch.add(Rule(kChain).family(family).protocol(protocol).tproxy(family));
  refuse_rest(batch, {});
  return batch.finish();
}

// Of UDP, only DNS: the address that was wanted is not known.
Ruleset redirect_ruleset() {
  constexpr const char* kChain = "steer";
  constexpr int32_t kDestinationNat = -100;
  Batch batch;
  batch.replace_table();
  batch.add_chain(kChain, "nat", NF_INET_LOCAL_OUT, kDestinationNat);
  batch.add(Rule(kChain).marked().accept());
  for (uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP})
    for (const Own& own : own_resolvers())
      batch.add(Rule(kChain).to(own.family, own.prefix).protocol(protocol).to_port(kDns).redirect());
  accept_own(batch, kChain);
  batch.add(Rule(kChain).protocol(IPPROTO_TCP).redirect());
  batch.add(Rule(kChain).protocol(IPPROTO_UDP).to_port(kDns).redirect());
  refuse_rest(batch, {kDns});
  return batch.finish();
}

// The programs are behind a link. What no one serves is refused here, before this namespace answers it.
Ruleset link_ruleset() {
  constexpr const char* kChain = "steer";
  constexpr int32_t kMangle = -150;
  Batch batch;
  batch.replace_table();
  batch.add_chain(kChain, "filter", NF_INET_PRE_ROUTING, kMangle);
  batch.add(Rule(kChain).arriving_at("lo").accept());
  batch.add(Rule(kChain).established().accept());
  for (uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP})
    batch.add(Rule(kChain).family(Family::V4).protocol(protocol).tproxy(Family::V4));
  batch.add(Rule(kChain).protocol(IPPROTO_TCP).reset());
  batch.add(Rule(kChain).reject(), Batch::Place::Last);
  return batch.finish();
}

std::vector<size_t> places_of(const Bytes& message, const Bytes& wanted) {
  std::vector<size_t> places;
  for (size_t i = 0; i + wanted.size() <= message.size(); ++i)
    if (std::memcmp(&message[i], wanted.data(), wanted.size()) == 0) places.push_back(i);
  return places;
}

void print(const char* name, const Ruleset& ruleset, size_t steering_rules) {
  const Bytes& message = ruleset.message;
  std::printf("inline constexpr uint8_t k%sRuleset[] = {", name);
  for (size_t i = 0; i < message.size(); ++i) std::printf("%s%u,", i % 32 == 0 ? "\n" : "", message[i]);
  std::printf("};\n// Where the port of the sockets is put in.\ninline constexpr size_t k%sPorts[] = {", name);
  const std::vector<size_t> places = places_of(message, port(kPortPlaceholder));
  check(places.size() == steering_rules, "finding the ports");
  for (size_t place : places) std::printf("%zu,", place);
  std::printf("};\n// Left out where there is none yet.\n");
  std::printf("inline constexpr size_t k%sRemoval[] = {%zu,%zu};\n", name, ruleset.removal_begin, ruleset.removal_end);
}

}  // namespace
}  // namespace cove::net

int main() {
  std::printf("// Generated by src/net/ruleset/generate.cc.\n#pragma once\n#include <cstddef>\n#include <cstdint>\n");
  std::printf("namespace cove::net {\n");
  cove::net::print("Tproxy", cove::net::tproxy_ruleset(), 8);
  cove::net::print("Redirect", cove::net::redirect_ruleset(), 6);
  cove::net::print("Link", cove::net::link_ruleset(), 2);
  std::printf("}  // namespace cove::net\n");
  return 0;
}
