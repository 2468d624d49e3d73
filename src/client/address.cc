#include "client/address.h"

#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace cove::client {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::unexpected<Error> no_address(std::string_view text) {
  return fail(Error(Code::Invalid, concat("'", text, "' is not the address of a server"))
                  .hint("write it as unix:PATH or tcp:HOST:PORT"));
}

Result<Address> parse_tcp(std::string_view text, std::string_view rest) {
  size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return no_address(text);
  Result<int64_t> port = parse_integer(rest.substr(colon + 1), 1, UINT16_MAX);
  if (!port) return no_address(text);
  std::string_view host = rest.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return Address{Address::Kind::Tcp, "", std::string(host), static_cast<uint16_t>(*port)};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos) return no_address(text);
  std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with("//")) rest.remove_prefix(2);
  if (scheme == "tcp" || scheme == "http") return parse_tcp(text, rest);
  if (scheme != "unix" || !rest.starts_with('/')) return no_address(text);
  return Address{Address::Kind::Unix, std::string(rest), "", 0};
}

std::string to_text(const Address& address) {
  if (address.kind == Address::Kind::Unix) return concat("unix:", address.path);
  bool numbers = address.host.find(':') != std::string::npos;
  return concat("tcp:", numbers ? concat("[", address.host, "]") : address.host, ":", address.port);
}

std::string own_socket() {
  if (std::string state = variable("COVE_STATE"); !state.empty()) return state + "/run/api.sock";
  if (::geteuid() == 0) return "/run/cove/api.sock";
  if (std::string runtime = variable("XDG_RUNTIME_DIR"); !runtime.empty()) return runtime + "/cove/api.sock";
  return concat("/tmp/cove-", ::geteuid(), "/api.sock");
}

}  // namespace cove::client
