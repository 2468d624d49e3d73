#pragma once

#include <string>

#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/words.h"

// Options shared by `cove session start` and `cove execute`: who shares the sandbox, the mode, and the sandbox itself.
// An order with these options has a member `place` and the members that sandbox_options.h requires.
namespace cove::cli {

inline constexpr std::string_view kSharing = "Whose sandbox";

struct PlaceOrder {
  std::string agent;
  std::string scope;
  std::string mode;
  Workspace workspace;
};

Result<std::string> parse_agent(const std::string& text);
Result<std::string> parse_scope(const std::string& text);
Result<std::string> parse_mode(const std::string& text);
// "PATH[:ro|rw|review]"
Result<void> set_workspace(PlaceOrder& place, const std::string& text);

// The fields of a request that were given.
void add_place(Json& body, const PlaceOrder& place, const SandboxSpec& sandbox);

template <typename T>
inline constexpr Option<T> kAgentOption = {
    {"agent", '\0', "NAME", "name of the agent", kSharing},
    [](T& order, Text text) { return assign(order.place.agent, parse_agent(text)); }};
template <typename T>
inline constexpr Option<T> kModeOption = {
    {"mode", '\0', "MODE", "what runs in a sandbox: all (default), selective (all but\nplainly harmless commands), off",
     kSharing},
    [](T& order, Text text) { return assign(order.place.mode, parse_mode(text)); }};
template <typename T>
inline constexpr Option<T> kPlaceWorkspaceOption = {
    {"workspace", '\0', "PATH[:ro|rw|review]", "mount a folder at /workspace (default: ro)", kFiles},
    [](T& order, Text text) { return set_workspace(order.place, text); }};

}  // namespace cove::cli
