#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/policy.h"

// How rules apply to a target.
namespace cove::net {

// A target, and what its rules need of it.
struct Question {
  explicit Question(const Target& asked);
  const Target& target;
  std::optional<Address> address;  // translated
  int least_bits = 0;              // that a network must have to allow the address
  std::optional<std::vector<std::string>> paths;
};

enum class Match { No, Request, Yes };  // Request: it depends on a request that is not known
struct Found {
  Match match = Match::No;
  const CompiledRule* rule = nullptr;
};
Found find_allowing(const std::vector<CompiledRule>& rules, const Question& question);
Found find_blocking(const std::vector<CompiledRule>& rules, const Question& question);

// Whether the rule is about the name, on whatever port.
bool is_about(const Rule& rule, const std::string& name);
// And on that one.
bool is_about(const Rule& rule, const std::string& name, uint16_t port);

}  // namespace cove::net
