#include "engine/session/session_info.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "image/catalogue.h"
#include "image/reference.h"
#include "model/limit_fields.h"

namespace cove::engine {
namespace {

constexpr const char* kScopes[] = {"session", "agent", "shared"};
constexpr const char* kModes[] = {"all", "selective", "off"};

template <typename T, size_t N>
std::optional<T> parse(const char* const (&names)[N], const std::string& name) {
  auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<T>(found - names);
}

std::string in_words(const Workspace& workspace) {
  if (workspace.access == Access::None) return "no workspace";
  return concat("the workspace ", workspace.path, " (", std::string_view(access_name(workspace.access)), ")");
}

std::string in_words(const NetworkPolicy& network) {
  std::string words = tier_name(network.tier);
  if (network.enabled) words += ", enabled";
  if (!network.allow.empty()) words += concat(", allowing ", join(network.allow, ", "));
  if (!network.block.empty()) words += concat(", blocking ", join(network.block, ", "));
  if (network.budget != NetworkBudget()) words += ", with a budget";
  return words;
}

std::string in_words(const std::vector<std::string>& secrets) {
  return secrets.empty() ? std::string("no secrets") : concat("the secrets ", join(secrets, ", "));
}

std::string difference(const Limits& wanted, const Limits& there) {
  std::string words;
  auto compare = [&](const LimitField& field, const auto& want, const auto& have) {
    if (!words.empty() || field.of == LimitOf::Exec || !want.named || want.value == have.value) return;
    words = concat("a limit of ", limit_text(field, have.value), " for ", field.name, ", and not ",
                   limit_text(field, want.value));
  };
  visit_limits(compare, wanted, there);
  return words;
}

}  // namespace

const char* scope_name(SessionScope scope) { return kScopes[static_cast<size_t>(scope)]; }
std::optional<SessionScope> parse_session_scope(const std::string& name) { return parse<SessionScope>(kScopes, name); }
const char* mode_name(Mode mode) { return kModes[static_cast<size_t>(mode)]; }
std::optional<Mode> parse_mode(const std::string& name) { return parse<Mode>(kModes, name); }

std::string binding_of(const SessionOrder& order, const std::string& session_id) {
  switch (order.scope) {
    case SessionScope::Session:
      return concat("session:", session_id);
    case SessionScope::Agent:
      return concat("agent:", order.agent);
    case SessionScope::Shared:
      break;
  }
  return "shared";
}

// A sandbox has its image to the byte; who asks need not.
static bool same_image(const std::string& wanted, const std::string& there) {
  if (wanted == there || is_host_image(wanted) || is_host_image(there)) return wanted == there;
  Result<ImageReference> reference = parse_reference(wanted);
  if (!reference) return pinned_digest(wanted) == pinned_digest(there);
  if (!reference->digest.empty()) return reference->digest == pinned_digest(there);
  std::string name = there.substr(0, there.find('@'));
  return name == to_text(*reference) || name.ends_with(concat("/", to_text(*reference)));
}

bool names_limit(const Limits& limits) {
  bool names = false;
  visit_limits(
      [&](const LimitField& field, const auto& limit) { names = names || (limit.named && field.of != LimitOf::Exec); },
      limits);
  return names;
}

std::string difference(const SandboxSpec& wanted, const SandboxSpec& there) {
  if (!wanted.image.empty() && !same_image(wanted.image, there.image))
    return concat("the image ", there.image, ", and not ", wanted.image);
  bool same_folder = wanted.workspace.path == there.workspace.path && wanted.workspace.access == there.workspace.access;
  // Who names no workspace is not to have one, as who asks to read only is not to write.
  if (!same_folder) return concat(in_words(there.workspace), ", and not ", in_words(wanted.workspace));
  bool both_known = wanted.workspace.inode != 0 && there.workspace.inode != 0;
  if (both_known &&
      (wanted.workspace.inode != there.workspace.inode || wanted.workspace.device != there.workspace.device))
    return concat("the folder that was at ", there.workspace.path, " before, and not the one that is there now");
  // Who names no network is not to have one.
  if (wanted.network != there.network)
    return concat("the network policy ", in_words(there.network), ", and not ", in_words(wanted.network));
  // Who names no secrets is not to have any.
  if (std::set(wanted.secrets.begin(), wanted.secrets.end()) != std::set(there.secrets.begin(), there.secrets.end()))
    return concat(in_words(there.secrets), ", and not ", in_words(wanted.secrets));
  return difference(wanted.limits, there.limits);
}

}  // namespace cove::engine
