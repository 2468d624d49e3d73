#include "client/address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/ascii.h"
#include "base/text.h"
#include "sys/file.h"
#include "sys/own_folder.h"

namespace cove::client {
namespace {

constexpr uint16_t kHttpsPort = 443;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::unexpected<Error> no_address(std::string_view text) {
  constexpr const char* kHint = "write it as unix:PATH, https://HOST:PORT or, on this machine, http://127.0.0.1:PORT";
  if (text.find('@') == std::string_view::npos)
    return fail(Error(Code::Invalid, concat("'", text, "' is not the address of a server")).hint(kHint));
  return fail(Error(Code::Invalid, "the address of a server cannot have user information in it ('…@')")
                  .hint("COVE_API_KEY is for the key"));
}

// A name, or an IPv4 address in numbers.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

bool is_zone(std::string_view text) { return is_name(text) && text.size() < IF_NAMESIZE; }

// What is within the brackets: an IPv6 address with a zone or not; '%' may be written as "%25", as in URLs.
Result<std::string> parse_v6(std::string_view text) {
  size_t mark = std::min(text.find('%'), text.size());
  std::string_view zone = text.substr(mark);
  const std::string number(text.substr(0, mark));
  in6_addr address = {};
  if (::inet_pton(AF_INET6, number.c_str(), &address) != 1) return fail(Code::Invalid, "no IPv6 address");
  if (zone.empty()) return number;
  zone.remove_prefix(zone.starts_with("%25") ? 3 : 1);
  if (!is_zone(zone)) return fail(Code::Invalid, "no zone of an IPv6 address");
  return concat(number, "%", zone);
}

struct HostAndPort {
  std::string host;
  std::string_view port;  // with its colon; empty where there is none
};

Result<HostAndPort> split_port(std::string_view text) {
  if (text.starts_with('[')) {
    size_t end = text.find(']');
    if (end == std::string_view::npos) return fail(Code::Invalid, "the bracket is not closed");
    return HostAndPort{COVE_TRY(parse_v6(text.substr(1, end - 1))), text.substr(end + 1)};
  }
  size_t colon = std::min(text.find(':'), text.size());
  if (!is_name(text.substr(0, colon))) return fail(Code::Invalid, "no name of a host");
  return HostAndPort{std::string(text.substr(0, colon)), text.substr(colon)};
}

// HOST:PORT, [HOST]:PORT; without a port where there is a usual one.
Result<Address> parse_tcp(std::string_view text, std::string_view rest, Address::Kind kind) {
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Result<HostAndPort> parts = split_port(rest);
  if (!parts) return no_address(text);
  if (parts->port.empty() && kind == Address::Kind::Tls) return Address{kind, "", parts->host, kHttpsPort};
  if (!parts->port.starts_with(':')) return no_address(text);
  Result<int64_t> port = parse_integer(parts->port.substr(1), 1, UINT16_MAX);
  if (!port) return no_address(text);
  return Address{kind, "", parts->host, static_cast<uint16_t>(*port)};
}

std::string host_and_port(std::string_view host, uint16_t port) {
  const bool numbers = host.find(':') != std::string_view::npos;
  return concat(numbers ? "[" : "", host, numbers ? "]:" : ":", port);
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos) return no_address(text);
  std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with("//")) rest.remove_prefix(2);
  if (same_word(scheme, "tcp") || same_word(scheme, "http")) return parse_tcp(text, rest, Address::Kind::Tcp);
  if (same_word(scheme, "https")) return parse_tcp(text, rest, Address::Kind::Tls);
  if (!same_word(scheme, "unix") || !rest.starts_with('/')) return no_address(text);
  return Address{Address::Kind::Unix, std::string(rest), "", 0};
}

std::string to_text(const Address& address) {
  if (address.kind == Address::Kind::Unix) return concat("unix:", address.path);
  return concat(address.kind == Address::Kind::Tls ? "https://" : "tcp:", host_and_port(address.host, address.port));
}

std::string authority_of(const Address& address) {
  if (address.kind == Address::Kind::Unix) return "localhost";
  return host_and_port(std::string_view(address.host).substr(0, address.host.find('%')), address.port);
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

bool is_loopback(const std::string& number) {
  in_addr v4 = {};
  if (::inet_pton(AF_INET, number.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  in6_addr v6 = {};
  return ::inet_pton(AF_INET6, number.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::unexpected<Error> not_encrypted(const Address& address) {
  return fail(Error(Code::Denied, concat("the server at ", host_and_port(address.host, address.port),
                                         " is another machine, and the connection would not be encrypted"))
                  .hint(concat("use https://", host_and_port(address.host, address.port),
                               "; the server needs --tls-cert and --tls-key")));
}

std::string own_socket() {
  if (std::string state = variable("COVE_STATE"); !state.empty()) return state + "/run/api.sock";
  return sys::run_folder() + "/api.sock";
}

}  // namespace cove::client
