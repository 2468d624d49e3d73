#include "cli/session_order.h"

#include <algorithm>

#include "base/text.h"
#include "cli/run_values.h"
#include "cli/sandbox_body.h"

namespace cove::cli {
namespace {

constexpr size_t kMaxAgent = 128;

Result<std::string> one_of(const std::string& text, const std::vector<std::string>& words, std::string_view what) {
  if (std::find(words.begin(), words.end(), text) != words.end()) return text;
  return fail(Error(Code::Invalid, concat("'", text, "' is not a ", what)).hint(concat("write ", join(words, ", "))));
}

}  // namespace

Result<std::string> parse_agent(const std::string& text) {
  if (!text.empty() && text.size() <= kMaxAgent) return text;
  return fail(Error(Code::Invalid, "invalid agent name").hint(concat("1 to ", kMaxAgent, " bytes")));
}

Result<std::string> parse_scope(const std::string& text) {
  return one_of(text, {"session", "agent", "shared"}, "scope");
}

Result<std::string> parse_mode(const std::string& text) { return one_of(text, {"all", "selective", "off"}, "mode"); }

Result<void> set_workspace(PlaceOrder& place, const std::string& text) {
  if (place.workspace.access != Access::None) return second_workspace();
  place.workspace = COVE_TRY(parse_workspace(text));
  return {};
}

void add_place(Json& body, const PlaceOrder& place, const SandboxSpec& sandbox) {
  if (!place.agent.empty()) body["agent"] = place.agent;
  if (!place.scope.empty()) body["scope"] = place.scope;
  if (!place.mode.empty()) body["mode"] = place.mode;
  if (place.workspace.access != Access::None) body["workspace"] = workspace_body(place.workspace);
  if (!sandbox.image.empty()) body["image"] = sandbox.image;
  if (!sandbox.runtime.empty()) body["runtime"] = sandbox.runtime;
  if (Json network = network_body(sandbox.network); !network.is_null()) body["network"] = std::move(network);
  if (!sandbox.secrets.empty()) body["secrets"] = sandbox.secrets;
  Json limits = limits_body(sandbox.limits);
  if (!limits.empty()) body["limits"] = std::move(limits);
}

}  // namespace cove::cli
