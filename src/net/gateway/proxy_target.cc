#include "net/gateway/proxy_target.h"

#include <algorithm>

#include "base/text.h"
#include "http1/request.h"
#include "net/gateway/http_request.h"
#include "net/sockets.h"

namespace cove::net {
namespace {

constexpr uint16_t kHttp = 80;

Result<void> check_port(uint16_t port) {
  if (port == 0) return fail(Code::Invalid, "port 0 is not a port");
  return {};
}

Result<RequestedHost> parse_host(std::string_view text) {
  auto host = parse_requested_host(text);
  if (!host) return fail(Code::Invalid, concat(host.error().reason, ": ", shown_host(text)));
  return std::move(*host);
}

Result<Target> target_of(const RequestedHost& host, uint16_t port, NameTable& names) {
  return host.address ? proxy_target(*host.address, port, names) : proxy_target(host.name, port, names);
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

Result<Target> connect_target(http1::HeadReader& head, NameTable& names) {
  auto line = http1::parse_request_line(head.first_line());
  if (!line) return fail(Code::Invalid, line.error().reason);
  RequestedHost wanted = COVE_TRY(parse_host(line->target));
  if (!wanted.port) return fail(Code::Invalid, "the target of CONNECT has no port");
  Target target = COVE_TRY(target_of(wanted, *wanted.port, names));
  if (http1::count_headers(head.headers(), "Host") > 1) return fail(Code::Invalid, "several Host headers");
  auto host = http1::find_header(head.headers(), "Host");
  if (!host || host->empty()) return target;
  Target other = COVE_TRY(target_of(COVE_TRY(parse_host(*host)), target.port, names));
  if (other.name != target.name || other.address != target.address)
    return fail(Code::Invalid, "Host is another than the target of CONNECT");
  return target;
}

}  // namespace cove::net
