#include "net/gateway/names.h"

#include <utility>

#include "net/groups.h"

namespace cove::net {
namespace {

constexpr uint32_t kNetwork = 0xc6120000;  // 198.18.0.0/15
constexpr uint32_t kAddresses = 1u << 17;

uint32_t number_of(const Address& address) {
  uint32_t number = 0;
  for (size_t i = 12; i < 16; ++i) number = number << 8 | address.bytes[i];
  return number;
}

Address address_from(uint32_t number) {
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  for (size_t i = 0; i < 4; ++i) address.bytes[12 + i] = static_cast<uint8_t>(number >> (24 - 8 * i));
  return address;
}

// FNV-1a, 64 bits, folded: the same in every build.
uint32_t first_choice(std::string_view name) {
  uint64_t hash = 14695981039346656037u;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return static_cast<uint32_t>(hash ^ hash >> 32) % kAddresses;
}

// Some programs refuse what looks like the address of a network or a broadcast.
bool is_usable(uint32_t index) { return (index & 0xff) != 0 && (index & 0xff) != 0xff; }

}  // namespace

bool is_synthetic(const Address& address) {
  return address.is_v4() && number_of(address) / kAddresses == kNetwork / kAddresses;
}

void add_names_of(const EffectivePolicy& policy, NameTable& names) {
  auto add = [&](std::string_view text) {
    auto rule = parse_rule(text);
    if (rule && rule->kind == Rule::Kind::Name) names.address_of(rule->host);
    return rule && rule->kind == Rule::Kind::Group ? find_group(rule->host) : nullptr;
  };
  for (const auto& layer : policy.layers)
    for (const auto& text : layer.policy.allow)
      if (const Group* group = add(text))
        for (const auto& host : group->hosts) add(host.rule);
}

Address NameTable::address_of(const std::string& name) {
  if (auto found = by_name_.find(name); found != by_name_.end()) {
    touch(found->second);
    return address_from(found->second->address);
  }
  if (entries_.size() >= most_) forget_oldest();
  uint32_t address = free_address(name);
  entries_.push_front({name, address});
  by_name_.emplace(entries_.front().name, entries_.begin());
  by_address_.emplace(address, entries_.begin());
  return address_from(address);
}

std::string NameTable::name_of(const Address& address) {
  if (!is_synthetic(address)) return {};
  auto found = by_address_.find(number_of(address));
  if (found == by_address_.end()) return {};
  touch(found->second);
  return found->second->name;
}

// There is one, because the table holds far less names than there are addresses.
uint32_t NameTable::free_address(std::string_view name) const {
  uint32_t index = first_choice(name);
  while (!is_usable(index) || by_address_.contains(kNetwork + index)) index = (index + 1) % kAddresses;
  return kNetwork + index;
}

void NameTable::forget_oldest() {
  const Entry& oldest = entries_.back();
  by_name_.erase(oldest.name);
  by_address_.erase(oldest.address);
  entries_.pop_back();
}

}  // namespace cove::net
