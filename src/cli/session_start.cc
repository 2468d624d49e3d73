#include "cli/life_options.h"
#include "cli/sandbox_body.h"
#include "cli/session_order.h"
#include "cli/session_verbs.h"
#include "cli/sizes.h"

namespace cove::cli {
namespace {

SandboxSpec nothing_named() {
  SandboxSpec spec;
  spec.image.clear();
  return spec;
}

struct StartOrder : CommonOrder {
  PlaceOrder place;
  SandboxSpec sandbox = nothing_named();
  Environment file_environment;
  NetworkWords network;
  LifeOrder life;
  std::string size;
};
SandboxSpec& sandbox_of(StartOrder& order) { return order.sandbox; }

constexpr auto kOptions = option_table<StartOrder>(
    kAgentOption<StartOrder>,
    Option<StartOrder>{{"scope", '\0', "SCOPE", "who shares the sandbox: session (default), agent, shared", kSharing},
                       [](StartOrder& order, Text text) { return assign(order.place.scope, parse_scope(text)); }},
    kModeOption<StartOrder>, kEnvOption<StartOrder>, kEnvFileOption<StartOrder>, kSecretOption<StartOrder>,
    kImageOption<StartOrder>, kPlaceWorkspaceOption<StartOrder>, kNetworkOptions<StartOrder>,
    kRuntimeOption<StartOrder>, kLimitOptions<StartOrder>, kSizeOption<StartOrder>,
    Option<StartOrder>{{"idle", '\0', "TIME", "end it after this time without use (default: 30m); or none", kLife},
                       [](StartOrder& order, Text text) { return assign(order.life.idle, parse_life(text)); }},
    kLabelOption<StartOrder>, kProjectOption<StartOrder>, kJsonOption<StartOrder>, kHelpOption<StartOrder>);

constexpr Form kForm = {
    .verb = "session start",
    .usage = "[OPTIONS]",
    .text = "Starts a session and prints its id. Its sandbox is created when it is first used.",
    .more =
        "Examples:\n"
        "  cove session start --workspace .:rw -m 1g\n"
        "  cove session start --agent researcher --scope agent",
};

Json body_of(const StartOrder& order) {
  Json body = Json::object();
  add_place(body, order.place, order.sandbox);
  Environment env = order.file_environment;
  for (const auto& [name, value] : order.sandbox.env) set_variable(env, name, value);
  if (!env.empty()) body["env"] = environment_body(env);
  if (!order.sandbox.labels.empty()) body["labels"] = order.sandbox.labels;
  if (Json life = life_body(order.life); !life.empty()) body["lifecycle"] = std::move(life);
  return body;
}

Result<Json> start_session(const StartOrder& order) {
  Api api = COVE_TRY(open_server(order));
  return api.start_session(body_of(order));
}

int start(const Arguments& args) {
  auto words = read_words<StartOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<Json> session = start_session(words->order);
  if (!session) return complain(session.error());
  bool printed = words->order.json ? print_json(*session) : print(client::text_of(*session, "id") + "\n");
  return printed ? 0 : kOwnFailure;
}

}  // namespace

Verb session_start_verb() {
  return {"start", "start a session", start, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
