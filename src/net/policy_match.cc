#include "net/policy_match.h"

#include <algorithm>

#include "base/ascii.h"
#include "net/path.h"

namespace cove::net {
namespace {

template <typename List, typename Value>
bool has(const List& list, const Value& value) {
  return list.empty() || std::ranges::find(list, value) != list.end();
}

bool is_about(const Rule& rule, const Question& question, int least_bits) {
  if (rule.kind != Rule::Kind::Network) return net::is_about(rule, question.target.name);
  return question.address && rule.bits >= least_bits && in_network(*question.address, rule.network, rule.bits);
}

bool allows_request(const Rule& rule, const Question& question) {
  if (!has(rule.methods, question.target.method)) return false;
  if (rule.path.empty()) return true;
  return question.paths &&
         std::ranges::all_of(*question.paths, [&](const std::string& path) { return path_matches(rule.path, path); });
}

// Servers differ in case and final slashes.
bool blocks_path(std::string_view pattern, const std::string& path) {
  const std::string folded = lower(path), folded_pattern = lower(pattern);
  const std::string bare = folded.ends_with('/') ? folded.substr(0, folded.size() - 1) : folded;
  return path_matches(folded_pattern, folded) || path_matches(folded_pattern, bare) ||
         path_matches(folded_pattern, bare + "/");
}

bool blocks_request(const Rule& rule, const Question& question) {
  if (!has(rule.methods, upper(question.target.method))) return false;
  if (rule.path.empty() || !question.paths) return true;
  return std::ranges::any_of(*question.paths, [&](const std::string& path) { return blocks_path(rule.path, path); });
}

using Decides = bool (*)(const Rule& rule, const Question& question);

Found find(const std::vector<CompiledRule>& rules, const Question& question, int least_bits, Decides decides) {
  Found found;
  for (const CompiledRule& one : rules) {
    const Rule& rule = one.rule;
    if (!has(rule.ports, question.target.port) || !is_about(rule, question, least_bits)) continue;
    const bool open = rule.reads_requests() && question.target.method.empty();
    if (open && found.match == Match::No) found = {Match::Request, &one};
    if (!open && (!rule.reads_requests() || decides(rule, question))) return {Match::Yes, &one};
  }
  return found;
}

}  // namespace

Question::Question(const Target& asked) : target(asked) {
  if (asked.address) address = translated(*asked.address);
  if (const SpecialNetwork* special = address ? special_network(*address) : nullptr) least_bits = special->bits;
  if (!asked.method.empty()) paths = path_spellings(asked.path);
}

Found find_allowing(const std::vector<CompiledRule>& rules, const Question& question) {
  return find(rules, question, question.least_bits, allows_request);
}

Found find_blocking(const std::vector<CompiledRule>& rules, const Question& question) {
  return find(rules, question, 0, blocks_request);
}

bool is_about(const Rule& rule, const std::string& name) {
  if (rule.kind == Rule::Kind::Name) return name == rule.host;
  return rule.kind == Rule::Kind::Subdomains && name.size() > rule.host.size() + 1 && name.ends_with(rule.host) &&
         name[name.size() - rule.host.size() - 1] == '.';
}

bool is_about(const Rule& rule, const std::string& name, uint16_t port) {
  return has(rule.ports, port) && is_about(rule, name);
}

}  // namespace cove::net
