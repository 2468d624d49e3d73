#include "http/anonymous.h"

#include <netinet/in.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "http/stream.h"

namespace cove::http {
namespace {

constexpr size_t kNetwork = 8;  // of an IPv6 address: all of a /64 are taken for one
constexpr size_t kMapped = 12;  // where the IPv4 address in a mapped one begins

std::string_view bytes_of(const auto& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

// Equal for connections that count as of one peer.
std::string peer_key(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return std::string(bytes_of(reinterpret_cast<const sockaddr_in&>(address).sin_addr));
  if (address.ss_family != AF_INET6) return "";
  const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return std::string(IN6_IS_ADDR_V4MAPPED(&six) ? bytes_of(six).substr(kMapped) : bytes_of(six).substr(0, kNetwork));
}

}  // namespace

Stream* AnonymousClients::add(Stream& stream, const sockaddr_storage& address) {
  std::erase_if(all_, [](const One& one) { return one.stream->vouched(); });
  std::string key = peer_key(address);
  auto same = [&](const One& one) { return one.address == key; };
  auto first = all_.end();
  if (static_cast<size_t>(std::ranges::count_if(all_, same)) >= limits_.most_of_one_address)
    first = std::ranges::find_if(all_, same);
  else if (all_.size() >= limits_.most)
    first = first_of_most_crowded();
  Stream* driven_out = first == all_.end() ? nullptr : first->stream;
  if (driven_out != nullptr) all_.erase(first);
  all_.push_back({&stream, std::move(key)});
  return driven_out;
}

std::deque<AnonymousClients::One>::iterator AnonymousClients::first_of_most_crowded() {
  std::map<std::string_view, size_t> counts;
  for (const One& one : all_) ++counts[one.address];
  size_t most = 0;
  for (const auto& [address, count] : counts) most = std::max(most, count);
  return std::ranges::find_if(all_, [&](const One& one) { return counts[one.address] == most; });
}

void AnonymousClients::remove(const Stream& stream) {
  std::erase_if(all_, [&](const One& one) { return one.stream == &stream; });
}

}  // namespace cove::http
