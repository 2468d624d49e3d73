#include "base/text.h"
#include "cli/session.h"
#include "cli/session_order.h"
#include "cli/session_verbs.h"
#include "cli/table.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

using client::text_of;

struct LsOrder : CommonOrder {
  bool all = false;
  bool quiet = false;
  client::SessionQuery query;
};

constexpr Option<LsOrder> kOptions[] = {
    {{"all", 'a', "", "also list sessions that have ended", "Options"},
     [](LsOrder& order, Text) -> Result<void> {
       order.all = true;
       return {};
     }},
    {{"agent", '\0', "NAME", "list only sessions of this agent", "Options"},
     [](LsOrder& order, Text text) { return assign(order.query.agent, parse_agent(text)); }},
    {{"scope", '\0', "SCOPE", "list only sessions with this scope", "Options"},
     [](LsOrder& order, Text text) { return assign(order.query.scope, parse_scope(text)); }},
    {{"quiet", 'q', "", "print only ids", "Options"},
     [](LsOrder& order, Text) -> Result<void> {
       order.quiet = true;
       return {};
     }},
    kProjectOption<LsOrder>,
    kJsonOption<LsOrder>,
    kHelpOption<LsOrder>,
};

constexpr Form kForm = {
    .verb = "session ls",
    .usage = "[OPTIONS]",
    .text = "Lists active sessions; with -a, all of them.",
};

std::string or_dash(const std::string& text) { return text.empty() ? "-" : printable(text); }

std::string table_of(const std::vector<Json>& sessions) {
  Table table({"ID", "AGENT", "SCOPE", "MODE", "STATE", "SANDBOX", "AGE", "EXPIRES"});
  Time now = std::chrono::system_clock::now();
  for (const Json& session : sessions)
    table.add({printable(text_of(session, "id")), or_dash(text_of(session, "agent")), text_of(session, "scope"),
               text_of(session, "mode"), text_of(session, "state"), or_dash(text_of(session, "sandbox_id")),
               age(text_of(session, "created_at"), now), time_left(text_of(session, "expires_at"), now)});
  return table.text();
}

Result<std::vector<Json>> list(const LsOrder& order) {
  Api api = COVE_TRY(open_server(order));
  client::SessionQuery query = order.query;
  if (!order.all) query.state = "active";
  return api.sessions(query);
}

int ls(const Arguments& args) {
  auto words = read_words<LsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto sessions = list(words->order);
  if (!sessions) return complain(sessions.error());
  return print_list(*sessions, list_form(words->order.quiet, words->order.json), table_of);
}

}  // namespace

Verb session_ls_verb() {
  return {"ls", "list sessions", ls, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
