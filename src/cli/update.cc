#include "cli/life_options.h"
#include "cli/sandbox_body.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

struct UpdateOrder : CommonOrder {
  SandboxSpec sandbox;
  Environment file_environment;
  LifeOrder life;
  std::optional<NetworkTier> tier;
  std::vector<std::string> removed_labels;
  std::vector<std::string> removed_variables;
};
SandboxSpec& sandbox_of(UpdateOrder& order) { return order.sandbox; }

constexpr auto kOptions = option_table<UpdateOrder>(
    kEnvOption<UpdateOrder>, kEnvFileOption<UpdateOrder>,
    Option<UpdateOrder>{{"rm-env", '\0', "KEY", "remove a variable", kProgram},
                        [](UpdateOrder& order, Text text) -> Result<void> {
                          order.removed_variables.push_back(text);
                          return {};
                        }},
    kLimitOptions<UpdateOrder>,
    Option<UpdateOrder>{
        {"network", '\0', "TIER", "change the network tier; `cove net allow` adds rules", kFences, network_words},
        [](UpdateOrder& order, Text text) -> Result<void> {
          order.tier = COVE_TRY(parse_network_tier(text));
          return {};
        }},
    kIdleOption<UpdateOrder>, kMaxOption<UpdateOrder>, kOnExpireOption<UpdateOrder>, kAutoResumeOption<UpdateOrder>,
    kNameOption<UpdateOrder>, kLabelOption<UpdateOrder>,
    Option<UpdateOrder>{{"rm-label", '\0', "KEY", "remove a label", kOther},
                        [](UpdateOrder& order, Text text) -> Result<void> {
                          order.removed_labels.push_back(text);
                          return {};
                        }},
    kProjectOption<UpdateOrder>, kJsonOption<UpdateOrder>, kHelpOption<UpdateOrder>);

constexpr Form kForm = {
    .verb = "update",
    .usage = "[OPTIONS] SANDBOX…",
    .text =
        "Changes sandboxes while they run. Only the given options are changed. Variables and time limits apply to\n"
        "commands that start from now on.",
    .least = 1,
    .most = kMany,
};

Json patch_of(const UpdateOrder& order) {
  const SandboxSpec& sandbox = order.sandbox;
  Json patch = Json::object();
  if (!sandbox.name.empty()) patch["name"] = sandbox.name;
  for (const std::string& key : order.removed_labels) patch["labels"][key] = nullptr;
  for (const auto& [key, value] : sandbox.labels) patch["labels"][key] = value;
  for (const std::string& key : order.removed_variables) patch["env"][key] = nullptr;
  for (const auto& [key, value] : order.file_environment) patch["env"][key] = value;
  for (const auto& [key, value] : sandbox.env) patch["env"][key] = value;
  if (Json limits = limits_body(sandbox.limits); !limits.empty()) patch["limits"] = std::move(limits);
  if (order.tier) patch["network"]["tier"] = tier_name(*order.tier);
  if (Json life = life_body(order.life); !life.empty()) patch["lifecycle"] = std::move(life);
  return patch;
}

int update(const Arguments& args) {
  auto words = read_words<UpdateOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Json patch = patch_of(words->order);
  if (patch.empty()) return complain(Error(Code::Invalid, "no change was given").hint("see cove help update"));
  return for_each_name(words->order, words->operands,
                       [&](Api& api, const std::string& sandbox) { return api.update(sandbox, patch); });
}

}  // namespace

Verb update_verb() {
  return {"update",
          "change limits, labels, variables or timeouts",
          update,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
