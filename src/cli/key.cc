#include <algorithm>

#include "base/text.h"
#include "cli/sandbox_options.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

struct CreateKeyOrder : CommonOrder {
  std::vector<std::string> scopes;
  std::optional<std::chrono::milliseconds> expires;
};

constexpr std::string_view kScopes[] = {"read", "run", "manage", "secrets", "approve", "admin"};

Result<void> add_scope(CreateKeyOrder& order, const std::string& text) {
  for (const std::string& scope : split(text, ',')) {
    if (std::ranges::find(kScopes, scope) == std::end(kScopes))
      return fail(Error(Code::Invalid, concat("'", scope, "' is not a scope"))
                      .hint("the scopes are read, run, manage, secrets, approve and admin"));
    order.scopes.push_back(scope);
  }
  return {};
}

Result<void> set_expires(CreateKeyOrder& order, const std::string& text) {
  order.expires = COVE_TRY(parse_duration(text));
  return {};
}

constexpr Option<CreateKeyOrder> kCreateOptions[] = {
    {{"scope", 's', "SCOPE",
      "one or more of read, run, manage, secrets, approve and\nadmin, with commas between (default: run). Each "
      "includes\nread, and admin all of them",
      "Options"},
     add_scope},
    {{"expires", '\0', "TIME", "expire after this time, like 30d (default: never)", "Options"}, set_expires},
    {{"project", '\0', "NAME", "the project it gives access to (default: $COVE_PROJECT, or\ndefault)", "Options"},
     kProjectOption<CreateKeyOrder>.set},
    kJsonOption<CreateKeyOrder>,
    kHelpOption<CreateKeyOrder>,
};
constexpr Form kCreateForm = {
    .verb = "key create",
    .usage = "[OPTIONS] NAME",
    .text = "Creates a key for callers over TCP and prints it. It is shown only once: the server keeps only its hash.",
    .least = 1,
    .most = 1,
};

constexpr Option<CommonOrder> kOptions[] = {
    kProjectOption<CommonOrder>,
    kJsonOption<CommonOrder>,
    kHelpOption<CommonOrder>,
};
constexpr Form kLsForm = {
    .verb = "key ls",
    .usage = "[OPTIONS]",
    .text = "Lists keys.",
};
constexpr Form kRevokeForm = {
    .verb = "key revoke",
    .usage = "[OPTIONS] ID…",
    .text = "Revokes keys: the server no longer accepts them.",
    .least = 1,
    .most = kMany,
};

Result<Json> make_key(const CreateKeyOrder& order, const std::string& name) {
  Api api = COVE_TRY(open_server(order));
  Json body = {{"name", name}};
  if (!order.project.empty()) body["project"] = order.project;
  if (!order.scopes.empty()) body["scopes"] = order.scopes;
  if (order.expires) body["expires"] = order.expires->count();
  return api.create_key(body);
}

int create_key(const Arguments& args) {
  auto words = read_words<CreateKeyOrder>(kCreateForm, kCreateOptions, args);
  if (!words) return words.error();
  Result<Json> key = make_key(words->order, words->operands[0]);
  if (!key) return complain(key.error());
  bool printed = words->order.json ? print_json(*key) : print(text_of(*key, "key") + "\n");
  return printed ? 0 : kOwnFailure;
}

std::string table_of(const std::vector<Json>& keys) {
  Table table({"ID", "NAME", "PROJECT", "SCOPES", "AGE", "EXPIRES"});
  Time now = std::chrono::system_clock::now();
  for (const Json& key : keys) {
    std::vector<std::string> scopes;
    for (const Json& scope : client::field(key, "scopes"))
      if (scope.is_string()) scopes.push_back(scope.get<std::string>());
    table.add({printable(text_of(key, "id")), printable(text_of(key, "name")), printable(text_of(key, "project")),
               printable(join(scopes, ",")), age(text_of(key, "created_at"), now),
               time_left(text_of(key, "expires_at"), now)});
  }
  return table.text();
}

int list_keys(const Arguments& args) {
  auto words = read_words<CommonOrder>(kLsForm, kOptions, args);
  if (!words) return words.error();
  auto api = open_server(words->order);
  if (!api) return complain(api.error());
  auto keys = api->keys();
  if (!keys) return complain(keys.error());
  return (words->order.json ? print_json(*keys) : print(table_of(*keys))) ? 0 : kOwnFailure;
}

int revoke_keys(const Arguments& args) {
  auto words = read_words<CommonOrder>(kRevokeForm, kOptions, args);
  if (!words) return words.error();
  return for_each_name(words->order, words->operands, [](Api& api, const std::string& key) -> Result<Json> {
    COVE_TRY(api.revoke_key(key));
    return Json();
  });
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {
      {"create", "create a key and print it", create_key,
       [] { return form_help(kCreateForm, option_infos(kCreateOptions)); },
       [] { return option_infos(kCreateOptions); }},
      {"ls", "list keys", list_keys, [] { return form_help(kLsForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
      {"revoke", "revoke keys", revoke_keys, [] { return form_help(kRevokeForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
  };
  return kParts;
}

std::string key_help() {
  return parts_help(
      key_verb(),
      "Manages keys for callers over TCP. A key belongs to one project. Callers send it with COVE_API_KEY, or in\n"
      "the header Authorization: Bearer KEY.");
}

}  // namespace

Verb key_verb() {
  return {"key",
          "create, list and revoke keys for callers over TCP",
          [](const Arguments& args) { return act_on_part(key_verb(), args); },
          key_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
