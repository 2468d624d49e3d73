#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/options.h"
#include "cli/run_values.h"
#include "model/limit_fields.h"
#include "model/runtime_kind.h"
#include "model/sandbox.h"

// Options that describe a sandbox, for `cove run`, `cove create` and, in part, `cove update`. An order with these
// options has a function `SandboxSpec& sandbox_of(Order&)` and a member `file_environment`.
namespace cove::cli {

inline constexpr std::string_view kProgram = "What runs";
inline constexpr std::string_view kFiles = "Files";
inline constexpr std::string_view kLimits = "Limits (refused if this machine cannot enforce them)";
inline constexpr std::string_view kFences = "Fences";
inline constexpr std::string_view kLife = "Lifetime";
inline constexpr std::string_view kOther = "Other";

using Text = const std::string&;

// From the built-in table, for completion: "python", "python@3.12".
std::vector<std::string> languages_of_table();

// By its kind: a size, a number, a duration, "nofile=N".
Result<void> name_limit(Limits& limits, const LimitField& field, const std::string& text);

template <typename T>
Result<void> assign(T& target, Result<T> value) {
  if (!value) return fail(std::move(value).error());
  target = std::move(*value);
  return {};
}

template <typename T>
Result<void> append(std::vector<T>& list, Result<T> value) {
  if (!value) return fail(std::move(value).error());
  list.push_back(std::move(*value));
  return {};
}

// What the words say of the network. An order with these options has it as its member `network`.
struct NetworkWords {
  std::optional<NetworkTier> tier;
  std::vector<std::string> allow;
  std::vector<std::string> block;
};
// "none" is a tier without a network, "full" one with all of it.
Result<NetworkTier> parse_network_tier(const std::string& text);
// Tiers and their aliases; named groups of hosts.
std::vector<std::string> network_words();
std::vector<std::string> group_rules();
// Canonical rules out of "pypi.org,@node,example.org:80,443,GET,HEAD api.example.org/x".
Result<std::vector<std::string>> parse_rules(const std::string& text);
// Who allows something without naming a tier means `standard`.
Result<NetworkPolicy> policy_of(const NetworkWords& words);

// Of an order with a sandbox; others have a function of their own.
template <typename T>
std::vector<std::string>& secrets_of(T& order) {
  return sandbox_of(order).secrets;
}
Result<std::string> parse_secret_name(const std::string& text);

// The error for a second workspace.
std::unexpected<Error> second_workspace();
Result<void> add_label(SandboxSpec& sandbox, const std::string& text);

template <typename T>
inline constexpr Option<T> kEnvOption = {
    {"env", 'e', "KEY[=VALUE]", "set a variable; without a value, pass on yours", kProgram},
    [](T& order, Text text) { return add_variable(sandbox_of(order).env, text); }};
template <typename T>
inline constexpr Option<T> kEnvFileOption = {
    {"env-file", '\0', "FILE", "set variables from a file of KEY=VALUE lines", kProgram},
    [](T& order, Text text) { return add_variables_of_file(order.file_environment, text); }};
template <typename T>
inline constexpr Option<T> kSecretOption = {
    {"secret", '\0', "NAME", "pass on a secret, in the variable NAME; can be repeated", kProgram},
    [](T& order, Text text) { return append(secrets_of(order), parse_secret_name(text)); }};
template <typename T>
inline constexpr Option<T> kUserOption = {
    {"user", 'u', "USER", "name or UID[:GID] inside (default: user)", kProgram},
    [](T& order, Text text) { return assign(sandbox_of(order).user, parse_user(text)); }};
template <typename T>
inline constexpr Option<T> kImageOption = {
    {"image", '\0', "IMAGE",
     "host, or the name or digest of an image that was pulled,\nloaded or imported (default: host)", kProgram},
    [](T& order, Text text) { return assign(sandbox_of(order).image, parse_image(text)); }};

template <typename T>
inline constexpr Option<T> kWorkspaceOption = {
    {"workspace", '\0', "PATH[:ro|rw|review]", "mount a folder at /workspace (default: ro)", kFiles},
    [](T& order, Text text) -> Result<void> {
      if (sandbox_of(order).workspace.access != Access::None) return second_workspace();
      return assign(sandbox_of(order).workspace, parse_workspace(text));
    }};

// Those of limits, by the table. An order with other limits than its sandbox's has a function `limits_of` beside it.
template <typename T>
Limits& limits_of(T& order) {
  return sandbox_of(order).limits;
}

// The rows of the table that have an option, of all limits or of an exec's.
enum class LimitChoice { All, OfExecs };
constexpr bool has_option(const LimitField& field, LimitChoice choice) {
  return !field.option.empty() && (choice == LimitChoice::All || field.of == LimitOf::Exec);
}
template <LimitChoice kChoice>
constexpr auto rows_with_option() {
  constexpr size_t kCount =
      std::ranges::count_if(kLimitFields, [](const LimitField& field) { return has_option(field, kChoice); });
  std::array<size_t, kCount> rows{};
  size_t count = 0;
  for (size_t row = 0; row < std::size(kLimitFields); ++row)
    if (has_option(kLimitFields[row], kChoice)) rows[count++] = row;
  return rows;
}

template <typename T, size_t kRow>
inline constexpr Option<T> kLimitOption = {
    {kLimitFields[kRow].option, kLimitFields[kRow].letter, kLimitFields[kRow].argument, kLimitFields[kRow].help,
     kLimits},
    [](T& order, Text text) { return name_limit(limits_of(order), kLimitFields[kRow], text); }};
template <typename T, LimitChoice kChoice = LimitChoice::All>
inline constexpr auto kLimitOptions = []<size_t... I>(std::index_sequence<I...>) {
  return std::array{kLimitOption<T, rows_with_option<kChoice>()[I]>...};
}(std::make_index_sequence<rows_with_option<kChoice>().size()>());
template <typename T>
inline constexpr Option<T> kStrictOption = {
    {"strict", '\0', "", "refuse to start if a default limit cannot be enforced by\nthe best means", kLimits},
    [](T& order, Text) -> Result<void> {
      sandbox_of(order).strictness = Strictness::Strict;
      return {};
    }};

template <typename T>
Result<void> add_rules(T& order, std::vector<std::string> NetworkWords::* list, Text text) {
  for (std::string& rule : COVE_TRY(parse_rules(text))) (order.network.*list).push_back(std::move(rule));
  return assign(sandbox_of(order).network, policy_of(order.network));
}
template <typename T>
inline constexpr std::array kNetworkOptions = {
    Option<T>{{"network", '\0', "TIER",
               "sandbox (default) or restricted: none; standard: what\n--allow names; elevated or unrestricted: all",
               kFences, network_words},
              [](T& order, Text text) -> Result<void> {
                order.network.tier = COVE_TRY(parse_network_tier(text));
                return assign(sandbox_of(order).network, policy_of(order.network));
              }},
    Option<T>{{"allow", '\0', "RULE",
               "let it reach a host: pypi.org, *.example.org, host:8443,\n10.1.0.0/16, @python (may be repeated)",
               kFences, group_rules},
              [](T& order, Text text) { return add_rules(order, &NetworkWords::allow, text); }},
    Option<T>{{"block", '\0', "RULE", "never let it reach a host (may be repeated)", kFences, group_rules},
              [](T& order, Text text) { return add_rules(order, &NetworkWords::block, text); }}};
template <typename T>
inline constexpr Option<T> kNestingOption = {
    {"nesting", '\0', "", "allow user namespaces inside (bwrap, Chromium)", kFences},
    [](T& order, Text) -> Result<void> {
      sandbox_of(order).nesting = true;
      return {};
    }};
template <typename T>
inline constexpr Option<T> kRuntimeOption = {
    {"runtime", '\0', "NAME",
     "isolation backend: native (default), runc, crun, runsc,\noci (the first of these that is found), docker or "
     "podman",
     kFences, runtime_names},
    [](T& order, Text text) { return assign(sandbox_of(order).runtime, check_runtime(text)); }};

template <typename T>
inline constexpr Option<T> kNameOption = {
    {"name", '\0', "NAME", "a name for the sandbox", kOther},
    [](T& order, Text text) { return assign(sandbox_of(order).name, parse_name(text)); }};
template <typename T>
inline constexpr Option<T> kLabelOption = {{"label", 'l', "KEY[=VALUE]", "a label for the sandbox", kOther},
                                           [](T& order, Text text) { return add_label(sandbox_of(order), text); }};

}  // namespace cove::cli
