#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/policy.h"

namespace cove::net {

// Whether it is one of the addresses that names are answered with: 198.18.0.0/15.
bool is_synthetic(const Address& address);

// The synthetic addresses that a sandbox was given for names.
//
// A name's address follows from the name, so that it is the same after the gateway was started anew, unless another
// name had taken it. What was given out before is unknown to a new gateway until the name is asked for again: answers
// have the short TTL kSyntheticTtl, and the names that rules spell out are added beforehand (add_names_of()).
class NameTable {
 public:
  static constexpr size_t kMost = 8192;  // then the name that was not used for longest makes room
  explicit NameTable(size_t most = kMost) : most_(most) {}

  // The name's address; a new one where it has none.
  Address address_of(const std::string& name);
  // The name that was given this address; empty where there is none.
  std::string name_of(const Address& address);
  size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::string name;
    uint32_t address;
  };
  using Entries = std::list<Entry>;  // the last used first
  void touch(Entries::iterator entry) { entries_.splice(entries_.begin(), entries_, entry); }
  uint32_t free_address(std::string_view name) const;
  void forget_oldest();

  size_t most_;
  Entries entries_;
  std::unordered_map<std::string_view, Entries::iterator> by_name_;
  std::unordered_map<uint32_t, Entries::iterator> by_address_;
};

// Gives every name that an allow list or one of its groups spells out its address, as it had it before if nothing came
// in between: for a gateway that begins anew.
void add_names_of(const EffectivePolicy& policy, NameTable& names);

inline constexpr uint32_t kSyntheticTtl = 10;  // seconds

}  // namespace cove::net
