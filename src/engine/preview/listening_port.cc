#include "engine/preview/listening_port.h"

#include <arpa/inet.h>

#include <map>

namespace cove::engine {
namespace {

constexpr const char* kAccessNames[] = {"private", "token", "public"};

std::string text_of(const std::string& address) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}

bool is_on_loopback(const std::string& address) {
  for (const char* reached : {"127.0.0.1", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1"})
    if (address == reached) return true;
  return false;
}

}  // namespace

const char* port_access_name(PortAccess access) { return kAccessNames[static_cast<size_t>(access)]; }

std::optional<PortAccess> parse_port_access(std::string_view name) {
  for (size_t i = 0; i < std::size(kAccessNames); ++i)
    if (name == kAccessNames[i]) return static_cast<PortAccess>(i);
  return std::nullopt;
}

std::vector<ListeningPort> listening_ports(const std::vector<wire::ListeningSocket>& sockets,
                                           const SandboxInfo& sandbox) {
  std::map<uint16_t, ListeningPort> by_port;
  for (const wire::ListeningSocket& socket : sockets) {
    const auto port = static_cast<uint16_t>(socket.port);
    ListeningPort one{port, text_of(socket.address), socket.pid, socket.name, socket.command, {}};
    if (auto rule = sandbox.ports.find(port); rule != sandbox.ports.end()) one.rule = rule->second;
    auto [known, fresh] = by_port.try_emplace(port, one);
    if (!fresh && !is_on_loopback(known->second.address) && is_on_loopback(one.address)) known->second = std::move(one);
  }
  std::vector<ListeningPort> ports;
  for (auto& [port, one] : by_port) ports.push_back(std::move(one));
  return ports;
}

}  // namespace cove::engine
