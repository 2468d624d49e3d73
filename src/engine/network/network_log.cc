#include "engine/network/network_log.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "net/rule.h"

namespace cove::engine {
namespace {

constexpr uint16_t kAnyPort = 0;

bool is_lookup(const net::NetworkEntry& entry) {
  return entry.stage == net::NetworkEntry::Stage::Lookup || entry.protocol == net::Protocol::Dns;
}

uint16_t port_of(const net::NetworkEntry& entry) { return is_lookup(entry) ? kAnyPort : entry.port; }

std::string with_port(std::string host, uint16_t port) { return port == kAnyPort ? host : concat(host, ":", port); }

// The address alone.
std::string rule_of(const net::Address& address) {
  const std::string text = net::to_text(address);
  return address.is_v4() ? text + "/32" : concat("[", text, "]/128");
}

std::string what_of(const net::NetworkEntry& entry) {
  if (is_lookup(entry)) return concat("look up ", entry.host);
  const std::string target = with_port(entry.host, entry.port);
  return entry.method.empty() ? concat("connect to ", target) : concat(entry.method, " ", target, entry.path);
}

std::string hint_for(const net::NetworkEntry& entry, const std::string& rule, const std::string& sandbox) {
  if (entry.code == "no_network") return "give it a network: --network standard, and --allow what it may reach";
  if (entry.code == "blocked") return concat("it is blocked by the ", entry.layer, ", which wins over what is allowed");
  if (rule.empty()) return "";
  if (entry.layer != "sandbox" && entry.layer != "session" && !entry.layer.empty())
    return concat("the ", entry.layer, " bounds what its sandboxes may reach: ask for ", rule, " there");
  return concat("to allow it: cove net allow ", sandbox, " ", rule);
}

}  // namespace

uint64_t NetworkLog::add(net::NetworkEntry entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back({next_, std::move(entry)});
  if (entries_.size() > Networks::kKeptEntries) entries_.pop_front();
  wake();
  return next_++;
}

void NetworkLog::end() {
  std::lock_guard lock(mutex_);
  wake();
}

void NetworkLog::wake() {
  std::erase_if(followers_, [](const auto& follower) {
    auto there = follower.lock();
    if (there) ::eventfd_write(there->fd.get(), 1);
    return !there;
  });
}

std::vector<NetworkLog::Entry> NetworkLog::after(uint64_t seq, size_t limit) const {
  std::lock_guard lock(mutex_);
  auto from = std::ranges::upper_bound(entries_, seq, {}, &Entry::seq);
  auto count = std::min<size_t>(limit, static_cast<size_t>(entries_.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

uint64_t NetworkLog::last() const {
  std::lock_guard lock(mutex_);
  return next_ - 1;
}

Result<std::shared_ptr<Networks::LogFollower>> NetworkLog::follow() {
  auto follower = std::make_shared<Networks::LogFollower>(UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (!follower->fd) return fail_errno("eventfd");
  std::lock_guard lock(mutex_);
  followers_.push_back(follower);
  return follower;
}

bool is_denial(const net::NetworkEntry& entry) {
  using Stage = net::NetworkEntry::Stage;
  return entry.stage == Stage::Denied || (!entry.allowed && entry.stage != Stage::Closed);
}

std::string rule_for(const net::NetworkEntry& entry) {
  const bool by_address = entry.code == "private_address" || entry.code == "needs_name";
  if (entry.code != "not_allowed" && !by_address) return "";
  const std::string& named = by_address && !entry.address.empty() ? entry.address : entry.host;
  if (Result<net::Address> address = net::parse_address(named)) return with_port(rule_of(*address), port_of(entry));
  if (by_address) return "";
  Result<std::string> name = net::normalize_name(named);
  return name ? with_port(*name, port_of(entry)) : "";
}

Denial denial_of(const net::NetworkEntry& entry, const std::string& sandbox) {
  const std::string rule = rule_for(entry);
  return {.what = what_of(entry),
          .why = entry.why,
          .host = entry.host,
          .port = port_of(entry),
          .rule = rule,
          .code = entry.code,
          .hint = hint_for(entry, rule, sandbox)};
}

std::vector<Denial> denials_of(const std::vector<NetworkLog::Entry>& entries, const std::string& sandbox, size_t most) {
  std::vector<Denial> denials;
  std::set<std::pair<std::string, uint16_t>> seen;
  for (const NetworkLog::Entry& each : entries) {
    if (denials.size() == most) break;
    if (is_denial(each.entry) && seen.emplace(each.entry.host, port_of(each.entry)).second)
      denials.push_back(denial_of(each.entry, sandbox));
  }
  return denials;
}

}  // namespace cove::engine
