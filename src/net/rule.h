#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/address.h"

namespace cove::net {

// One rule of an allow or block list, as people write it:
//
//   [METHOD[,METHOD…] ]HOST[:PORT[,PORT…]][/PATH]
//
//   pypi.org                      this name, at any port
//   *.example.org                 every subdomain of any depth, not the domain itself
//   db.example.org:5432           this name, at this port
//   10.1.0.0/16   [fd00::]/8      addresses; with ports: 10.1.0.0/16:443, [fd00::]/8:443
//   @python                       the rules of a named group
//   GET,HEAD api.github.com/repos/*   only these requests, where the traffic is readable; `*` matches any characters
struct Rule {
  enum class Kind { Name, Subdomains, Network, Group };
  Kind kind = Kind::Name;
  std::string host;  // lower case, without a final dot: the name, the parent of the subdomains, or the group ("python")
  Address network;
  int bits = 0;                      // of the network, counted in 128
  std::vector<uint16_t> ports;       // empty: any
  std::vector<std::string> methods;  // upper case; empty: any
  std::string path;                  // a pattern; empty: any

  bool reads_requests() const { return !methods.empty() || !path.empty(); }
  bool operator==(const Rule&) const = default;
};
// Invalid, with what is wrong and a hint: `*` alone, wildcards elsewhere than at the front, names that cannot be names,
// numbers that look like addresses, unknown groups, networks with host bits.
Result<Rule> parse_rule(std::string_view text);
std::string to_text(const Rule& rule);  // the canonical form; parse_rule gives the rule back

// A rule in parts, as in JSON: {"host": …, "ports": […], "methods": […], "paths": […]}.
struct RuleParts {
  std::string host;  // as in a rule: also "@python", "*.example.org", "10.1.0.0/16", "[fd00::]/8"
  std::vector<uint16_t> ports;
  std::vector<std::string> methods;
  std::vector<std::string> paths;
};
// Its canonical texts, one for each path.
Result<std::vector<std::string>> rule_texts(const RuleParts& parts);

// Lower case, without a final dot; Invalid where it cannot be a name that DNS has. Internationalized names are taken in
// their ASCII form only ("xn--bcher-kva.example").
Result<std::string> normalize_name(std::string_view name);

}  // namespace cove::net
