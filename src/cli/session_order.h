#pragma once

#include <string>

#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/words.h"

// What `cove session start` and `cove execute` have in common: whose sandbox, in which mode, and how it is to be. An
// order that has these options has a member `place`, and what sandbox_options.h wants.
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

// Those fields of a request that were asked for.
void add_place(Json& body, const PlaceOrder& place, const SandboxSpec& sandbox);

template <typename T>
inline constexpr Option<T> kAgentOption = {{"agent", '\0', "NAME", "the agent", kSharing}, [](T& order, Text text) {
                                             return assign(order.place.agent, parse_agent(text));
                                           }};
template <typename T>
inline constexpr Option<T> kModeOption = {
    {"mode", '\0', "MODE", "what runs in a sandbox: all (default), selective (all but\nwhat is plainly harmless), off",
     kSharing},
    [](T& order, Text text) { return assign(order.place.mode, parse_mode(text)); }};
template <typename T>
inline constexpr Option<T> kPlaceWorkspaceOption = {
    {"workspace", '\0', "PATH[:ro|rw|review]", "show a folder of yours at /workspace (default: ro)", kFiles},
    [](T& order, Text text) { return set_workspace(order.place, text); }};

}  // namespace cove::cli
