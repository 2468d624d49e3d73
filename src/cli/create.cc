#include "cli/life_options.h"
#include "cli/sandbox_body.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/sizes.h"
#include "cli/warn_once.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

// Without --user, the image's own user applies.
SandboxSpec without_user() {
  SandboxSpec spec;
  spec.user.clear();
  return spec;
}

struct CreateOrder : CommonOrder {
  SandboxSpec sandbox = without_user();
  Environment file_environment;
  NetworkWords network;
  LifeOrder life;
  std::string size;
  bool start = true;
};
SandboxSpec& sandbox_of(CreateOrder& order) { return order.sandbox; }

constexpr auto kOptions = option_table<CreateOrder>(
    kEnvOption<CreateOrder>, kEnvFileOption<CreateOrder>, kSecretOption<CreateOrder>, kUserOption<CreateOrder>,
    kImageOption<CreateOrder>, kWorkspaceOption<CreateOrder>, kLimitOptions<CreateOrder>, kSizeOption<CreateOrder>,
    kStrictOption<CreateOrder>, kNetworkOptions<CreateOrder>, kNestingOption<CreateOrder>, kRuntimeOption<CreateOrder>,
    kIdleOption<CreateOrder>, kMaxOption<CreateOrder>, kOnExpireOption<CreateOrder>, kAutoResumeOption<CreateOrder>,
    Option<CreateOrder>{{"no-start", '\0', "", "do not start it", kLife},
                        [](CreateOrder& order, Text) -> Result<void> {
                          order.start = false;
                          return {};
                        }},
    kNameOption<CreateOrder>, kLabelOption<CreateOrder>, kProjectOption<CreateOrder>, kJsonOption<CreateOrder>,
    kHelpOption<CreateOrder>);

constexpr Form kForm = {
    .verb = "create",
    .usage = "[OPTIONS]",
    .text =
        "Creates a long-lived sandbox, starts it and prints its id. Files written in it are kept until it is removed,\n"
        "even if it is stopped and started again.",
    .more =
        "Examples:\n"
        "  cove create --name box -m 1g --cpus 2\n"
        "  cove create --name web --allow @node,@github\n"
        "  cove create --name build --workspace .:rw --idle 30m --on-expire stop --auto-resume yes",
};

// --env overrides --env-file, in any order.
Environment merged(const CreateOrder& order) {
  Environment all = order.file_environment;
  for (const auto& [name, value] : order.sandbox.env) set_variable(all, name, value);
  return all;
}

Json body_of(CreateOrder order) {
  order.sandbox.env = merged(order);
  Json body = sandbox_body(order.sandbox);
  if (Json life = life_body(order.life); !life.empty()) body["lifecycle"] = std::move(life);
  if (!order.start) body["start"] = false;
  return body;
}

Result<Json> create_sandbox(const CreateOrder& order) {
  Api api = COVE_TRY(open_server(order));
  return api.create(body_of(order));
}

int create(const Arguments& args) {
  auto words = read_words<CreateOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> sandbox = create_sandbox(words->order);
  if (!sandbox) return complain(sandbox.error());
  for (const Json& warning : client::field(*sandbox, "warnings"))
    if (warning.is_string()) warn_once(warning.get<std::string>());
  bool printed = words->order.json ? print_json(*sandbox) : print(client::text_of(*sandbox, "id") + "\n");
  return printed ? 0 : kOwnFailure;
}

}  // namespace

Verb create_verb() {
  return {"create", "create a long-lived sandbox", create, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
