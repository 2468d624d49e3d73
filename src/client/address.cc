#include "client/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::client {
namespace {

constexpr int64_t kHttpsPort = 443;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::unexpected<Error> no_address(std::string_view text) {
  return fail(Error(Code::Invalid, concat("'", text, "' is not the address of a server"))
                  .hint("write it as unix:PATH, https://HOST:PORT or, on this machine, http://127.0.0.1:PORT"));
}

// HOST:PORT, [HOST]:PORT; without a port where there is a usual one.
Result<Address> parse_tcp(std::string_view text, std::string_view rest, Address::Kind kind) {
  if (rest.ends_with('/')) rest.remove_suffix(1);
  size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && rest.find(']', colon) != std::string_view::npos)
    colon = std::string_view::npos;
  std::string_view host = rest.substr(0, colon);
  Result<int64_t> port = kHttpsPort;
  if (colon != std::string_view::npos) port = parse_integer(rest.substr(colon + 1), 1, UINT16_MAX);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool complete = colon != std::string_view::npos || kind == Address::Kind::Tls;
  if (!complete || !port || host.empty() || host.find('/') != std::string_view::npos) return no_address(text);
  return Address{kind, "", std::string(host), static_cast<uint16_t>(*port)};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos) return no_address(text);
  std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with("//")) rest.remove_prefix(2);
  if (scheme == "tcp" || scheme == "http") return parse_tcp(text, rest, Address::Kind::Tcp);
  if (scheme == "https") return parse_tcp(text, rest, Address::Kind::Tls);
  if (scheme != "unix" || !rest.starts_with('/')) return no_address(text);
  return Address{Address::Kind::Unix, std::string(rest), "", 0};
}

std::string to_text(const Address& address) {
  if (address.kind == Address::Kind::Unix) return concat("unix:", address.path);
  bool numbers = address.host.find(':') != std::string::npos;
  return concat(address.kind == Address::Kind::Tls ? "https://" : "tcp:",
                numbers ? concat("[", address.host, "]") : address.host, ":", address.port);
}

std::string number_of(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  for (std::string& line : split(sys::read_file("/etc/hosts", 1 << 20).value_or(""), '\n')) {
    std::replace(line.begin(), line.end(), '\t', ' ');
    std::vector<std::string> words = split(line.substr(0, line.find('#')), ' ');
    std::erase(words, "");
    if (words.size() > 1 && std::find(words.begin() + 1, words.end(), host) != words.end()) return words[0];
  }
  return host;
}

bool is_loopback(const std::string& host) {
  const std::string number = number_of(host);
  in_addr v4 = {};
  if (::inet_pton(AF_INET, number.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  in6_addr v6 = {};
  return ::inet_pton(AF_INET6, number.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string own_socket() {
  if (std::string state = variable("COVE_STATE"); !state.empty()) return state + "/run/api.sock";
  return sys::run_folder() + "/api.sock";
}

}  // namespace cove::client
