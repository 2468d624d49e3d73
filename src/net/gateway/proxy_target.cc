#include "net/gateway/proxy_target.h"

#include <algorithm>

#include "base/text.h"
#include "net/sockets.h"

namespace cove::net {
namespace {

constexpr uint16_t kHttp = 80;

Result<void> check_port(uint16_t port) {
  if (port == 0) return fail(Code::Invalid, "port 0 is not a port");
  return {};
}

}  // namespace

Result<Target> proxy_target(std::string_view host, uint16_t port, NameTable& names) {
  COVE_TRY(check_port(port));
  if (auto address = parse_address(host)) return proxy_target(*address, port, names);
  if (looks_numeric(host)) return fail(Code::Invalid, concat("not an address in its usual form: ", shown_host(host)));
  return Target{.name = COVE_TRY(normalize_name(host)), .address = {}, .port = port};
}

Result<Target> proxy_target(const Address& address, uint16_t port, NameTable& names) {
  COVE_TRY(check_port(port));
  std::string name = names.name_of(address);
  if (!name.empty()) return Target{.name = std::move(name), .address = {}, .port = port};
  return Target{.name = {}, .address = address, .port = port};
}

bool is_internal_page(const Target& target) {
  if (target.port != kHttp) return false;
  return target.name == kInternalName || (target.address && to_text(*target.address) == kGatewayAddress4);
}

std::string shown_host(std::string_view host) {
  constexpr size_t kMost = 253;
  std::string shown(host.substr(0, kMost));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace cove::net
