#include "net/rule.h"

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/text.h"
#include "model/network.h"
#include "net/groups.h"

namespace cove::net {
namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kLongestLabel = 63;
constexpr int kAddressBits = 128;
constexpr int kV4Bits = 96;
// Those of HTTP and WebDAV; CONNECT is not a request for a path.
constexpr const char* kMethods[] = {"GET",     "HEAD",   "POST",     "PUT",       "PATCH",  "DELETE",
                                    "OPTIONS", "TRACE",  "PROPFIND", "MKCOL",     "COPY",   "MOVE",
                                    "LOCK",    "UNLOCK", "REPORT",   "PROPPATCH", "SEARCH", "QUERY"};

std::string shown(std::string_view text) {
  constexpr size_t kMost = 100;
  std::string out(text.substr(0, kMost));
  std::ranges::replace_if(out, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  if (!is_utf8(out)) std::ranges::replace_if(out, [](char c) { return c < 0; }, '?');
  return text.size() > kMost ? out + "…" : out;
}

std::unexpected<Error> invalid(std::string what, std::string hint = "") {
  Error error(Code::Invalid, std::move(what));
  return fail(hint.empty() ? std::move(error) : std::move(error).hint(std::move(hint)));
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

bool is_label(std::string_view label) {
  if (label.empty() || label.size() > kLongestLabel || label.front() == '-' || label.back() == '-') return false;
  return std::ranges::all_of(label, [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; });
}

// --- pieces of a rule's text ---------------------------------------------------------------------------------------

Result<std::vector<std::string>> parse_methods(const std::vector<std::string>& words) {
  std::vector<std::string> methods;
  for (const std::string& word : words) {
    std::string method = upper(word);
    if (std::ranges::find(kMethods, method) == std::end(kMethods)) {
      const std::string near = closest(method, {std::begin(kMethods), std::end(kMethods)});
      return invalid(concat("'", shown(word), "' is not a method of HTTP"),
                     near.empty() ? "" : concat("did you mean ", near, "?"));
    }
    methods.push_back(std::move(method));
  }
  std::ranges::sort(methods);
  methods.erase(std::ranges::unique(methods).begin(), methods.end());
  return methods;
}

Result<uint16_t> parse_port(std::string_view text) {
  Result<int64_t> port = parse_integer(text, 1, UINT16_MAX);
  if (!port || !all_digits(text))
    return invalid(concat("'", shown(text), "' is not a port"), "ports are 1 to 65535, as in host:80,443");
  return static_cast<uint16_t>(*port);
}

Result<std::vector<uint16_t>> parse_ports(std::string_view text) {
  std::vector<uint16_t> ports;
  for (const std::string& port : split(text, ',')) ports.push_back(COVE_TRY(parse_port(port)));
  return ports;
}

void tidy(std::vector<uint16_t>& ports) {
  std::ranges::sort(ports);
  ports.erase(std::ranges::unique(ports).begin(), ports.end());
}

Result<std::string> parse_path(std::string_view text) {
  if (text.empty()) return std::string();
  if (text.front() != '/') return invalid(concat("the path '", shown(text), "' does not begin with '/'"));
  const bool plain =
      is_utf8(text) && std::ranges::none_of(text, [](char c) { return (c >= 0 && c <= ' ') || c == '\x7f'; });
  if (!plain || text.find_first_of("?#%;\\") != text.npos)
    return invalid(concat("the path '", shown(text), "' has characters that a rule's path cannot have"),
                   "write it as it is after percent-decoding, without a query; '*' stands for any characters");
  const std::string whole = text.ends_with('/') ? std::string(text) : concat(text, "/");
  for (const char* part : {"//", "/./", "/../"})
    if (whole.contains(part))
      return invalid(concat("the path '", shown(text), "' has empty or dot segments"),
                     "write the path that they lead to");
  return std::string(text);
}

// --- hosts ----------------------------------------------------------------------------------------------------------

Result<void> take_group(Rule& rule, std::string_view name) {
  rule.kind = Rule::Kind::Group;
  rule.host = lower(name);
  if (find_group(rule.host)) return {};
  std::vector<std::string> names;
  for (const Group& group : groups()) names.emplace_back(group.name);
  const std::string near = closest(rule.host, names);
  return invalid(concat("no such group: '@", shown(name), "'"),
                 near.empty() ? "`cove net groups` lists them" : concat("did you mean '@", near, "'?"));
}

Result<void> take_name(Rule& rule, std::string_view host) {
  const bool subdomains = host.starts_with("*.");
  if (host == "*" || host == "*." || host == "**")
    return invalid("'*' alone is not a rule", "the tiers 'elevated' and 'unrestricted' reach every host");
  std::string_view name = subdomains ? host.substr(2) : host;
  if (name.contains('*'))
    return invalid(concat("'", shown(host), "' has a wildcard elsewhere than in front"),
                   "'*.example.org' stands for every subdomain of example.org, and not for example.org itself");
  rule.kind = subdomains ? Rule::Kind::Subdomains : Rule::Kind::Name;
  rule.host = COVE_TRY(normalize_name(name));
  return {};
}

Address masked(Address address, int bits) {
  for (int i = 0; i < static_cast<int>(address.bytes.size()); ++i) {
    const int kept = std::clamp(bits - i * 8, 0, 8);
    address.bytes[static_cast<size_t>(i)] &= static_cast<uint8_t>(0xff << (8 - kept));
  }
  return address;
}

enum class Prefix { IfShorter, Always };
std::string network_text(const Address& network, int bits, Prefix prefix = Prefix::IfShorter) {
  const bool v4 = network.is_v4() && bits >= kV4Bits;
  const std::string address = v4 ? to_text(network) : concat("[", to_text(network), "]");
  if (bits == kAddressBits && prefix == Prefix::IfShorter) return address;
  return concat(address, "/", v4 ? bits - kV4Bits : bits);
}

Result<void> take_network(Rule& rule, const Address& address, std::string_view bits, bool dotted) {
  rule.kind = Rule::Kind::Network;
  rule.network = address;
  rule.bits = kAddressBits;
  if (bits.empty()) return {};
  const int most = dotted ? kAddressBits - kV4Bits : kAddressBits;
  Result<int64_t> length = parse_integer(bits, 0, most);
  if (!length || !all_digits(bits))
    return invalid(concat("'/", shown(bits), "' is not the length of a network's prefix"), concat("it is 0 to ", most));
  rule.bits = static_cast<int>(*length) + kAddressBits - most;
  const Address network = masked(address, rule.bits);
  if (network != address)
    return invalid(concat("the address '", to_text(address), "' has bits beyond the prefix of its network"),
                   concat("did you mean ", network_text(network, rule.bits), "?"));
  return {};
}

// The text of a rule behind its methods, taken apart from its front.
struct Text {
  std::string_view left;
  std::string_view up_to(std::string_view ends) {
    std::string_view piece = left.substr(0, left.find_first_of(ends));
    left.remove_prefix(piece.size());
    return piece;
  }
  // "/16" in front of ":443" or of a path: digits only.
  std::string_view bits() {
    if (!left.starts_with('/')) return {};
    std::string_view digits = left.substr(1, left.find_first_not_of("0123456789", 1) - 1);
    const std::string_view behind = left.substr(1 + digits.size());
    if (digits.empty() || !(behind.empty() || behind.front() == ':' || behind.front() == '/')) return {};
    left = behind;
    return digits;
  }
};

Result<void> take_bracketed(Rule& rule, Text& text) {
  const size_t end = text.left.find(']');
  if (end == text.left.npos) return invalid("the bracket in front of an IPv6 address is not closed");
  Result<Address> address = parse_address(text.left.substr(1, end - 1));
  if (!address || !text.left.substr(0, end).contains(':'))
    return invalid(concat("'", shown(text.left.substr(1, end - 1)), "' is not an IPv6 address"));
  text.left.remove_prefix(end + 1);
  return take_network(rule, *address, text.bits(), false);
}

Result<void> take_host(Rule& rule, Text& text) {
  if (text.left.starts_with('[')) return take_bracketed(rule, text);
  if (text.left.contains("://"))
    return invalid("a rule has no scheme", "write the host, and a port if it matters: example.org:443");
  if (parse_address(text.left.substr(0, text.left.find('/'))) && text.left.substr(0, text.left.find('/')).contains(':'))
    return invalid("an IPv6 address stands in brackets", "as in [fd00::]/8 or [2001:db8::1]:443");
  const std::string_view host = text.up_to(":/");
  if (host.empty()) return invalid("there is no host");
  if (host.starts_with('@')) return take_group(rule, host.substr(1));
  if (Result<Address> address = parse_address(host)) return take_network(rule, *address, text.bits(), true);
  return take_name(rule, host);
}

// Everything but methods, which stand in front.
Result<Rule> parse_place(std::string_view place) {
  Rule rule;
  Text text{place};
  COVE_TRY(take_host(rule, text));
  if (text.left.starts_with(':')) {
    text.left.remove_prefix(1);
    rule.ports = COVE_TRY(parse_ports(text.up_to("/")));
  }
  if (!text.left.empty() && text.left.front() != '/')
    return invalid(concat("'", shown(text.left), "' behind the host makes no sense"),
                   "a port stands behind ':', a path behind '/'");
  rule.path = COVE_TRY(parse_path(text.left));
  tidy(rule.ports);
  return rule;
}

Result<Rule> parse_whole(std::string_view text) {
  if (text.size() > kLongestNetworkRule)
    return invalid(concat("it has ", text.size(), " bytes"), concat("a rule has at most ", kLongestNetworkRule));
  const size_t space = text.find(' ');
  std::vector<std::string> methods;
  if (space != text.npos) methods = COVE_TRY(parse_methods(split(text.substr(0, space), ',')));
  const std::string_view place = space == text.npos ? text : trim(text.substr(space));
  if (place.contains(' ')) return invalid("it has more than one space", "a rule is [METHODS ]HOST[:PORTS][/PATH]");
  Rule rule = COVE_TRY(parse_place(place));
  rule.methods = std::move(methods);
  return rule;
}

std::string host_text(const Rule& rule) {
  // A path of digits would look like a prefix.
  const Prefix prefix = rule.path.empty() ? Prefix::IfShorter : Prefix::Always;
  if (rule.kind == Rule::Kind::Network) return network_text(rule.network, rule.bits, prefix);
  if (rule.kind == Rule::Kind::Subdomains) return "*." + rule.host;
  return rule.kind == Rule::Kind::Group ? "@" + rule.host : rule.host;
}

std::string ports_text(const std::vector<uint16_t>& ports) {
  std::string out;
  for (uint16_t port : ports) out += concat(out.empty() ? ":" : ",", port);
  return out;
}

}  // namespace

Result<std::string> normalize_name(std::string_view name) {
  std::string_view plain = name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
  if (std::ranges::any_of(plain, [](char c) { return c < 0; }))
    return invalid(concat("'", shown(name), "' is not ASCII"),
                   "write an internationalized name in its ASCII form: xn--…");
  if (plain.size() > kLongestName || !std::ranges::all_of(split(plain, '.'), is_label))
    return invalid(
        concat("'", shown(name), "' cannot be a host name"),
        concat("parts of 1 to ", kLongestLabel, " letters, digits, '-' or '_', at most ", kLongestName, " in all"));
  if (looks_numeric(plain))
    return invalid(concat("'", shown(name), "' looks like an address, and is none"),
                   "write an IPv4 address as four decimal numbers: 192.0.2.1");
  return lower(plain);
}

Result<Rule> parse_rule(std::string_view text) {
  return COVE_TRY_NOTE(concat("the rule '", shown(text), "'"), parse_whole(trim(text)));
}

std::string to_text(const Rule& rule) {
  const std::string methods = rule.methods.empty() ? "" : join(rule.methods, ",") + " ";
  return concat(methods, host_text(rule), ports_text(rule.ports), rule.path);
}

Result<std::vector<std::string>> rule_texts(const RuleParts& parts) {
  Rule rule = COVE_TRY(parse_rule(parts.host));
  if (!rule.ports.empty() || rule.reads_requests())
    return invalid(concat("the host '", shown(parts.host), "' of a rule in parts has more than a host"),
                   "ports, methods and paths have fields of their own");
  rule.ports = parts.ports;
  if (std::ranges::find(rule.ports, 0) != rule.ports.end()) return invalid("0 is not a port");
  tidy(rule.ports);
  rule.methods = COVE_TRY(parse_methods(parts.methods));
  std::vector<std::string> texts;
  for (const std::string& path : parts.paths.empty() ? std::vector<std::string>{""} : parts.paths) {
    rule.path = COVE_TRY(parse_path(path));
    texts.push_back(to_text(COVE_TRY(parse_rule(to_text(rule)))));
  }
  return texts;
}

}  // namespace cove::net
