#include <algorithm>

#include "base/text.h"
#include "cli/net_verbs.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"

namespace cove::cli {
namespace {

using client::text_of;

struct RequestsOrder : CommonOrder {
  std::string approve;
  std::string how = "session";
  std::string reject;
  std::string reason;
  bool all = false;
};

template <std::string RequestsOrder::* kMember>
Result<void> set_text(RequestsOrder& order, const std::string& text) {
  if (text.empty()) return fail(Code::Invalid, "the value is empty");
  order.*kMember = text;
  return {};
}

constexpr Option<RequestsOrder> kOptions[] = {
    {{"approve", '\0', "ID", "approve a request, while the sandbox or session lives", "Options"},
     set_text<&RequestsOrder::approve>},
    {{"once", '\0', "", "approve it for the next connection only", "Options"},
     [](RequestsOrder& order, const std::string&) -> Result<void> {
       order.how = "once";
       return {};
     }},
    {{"always", '\0', "", "approve it for later sandboxes, too: of the same agent, or\nof the same image", "Options"},
     [](RequestsOrder& order, const std::string&) -> Result<void> {
       order.how = "always";
       return {};
     }},
    {{"reject", '\0', "ID", "reject a request", "Options"}, set_text<&RequestsOrder::reject>},
    {{"reason", '\0', "TEXT", "why it is rejected; programs inside can read it", "Options"},
     set_text<&RequestsOrder::reason>},
    {{"all", 'a', "", "list those that were decided, too", "Options"},
     [](RequestsOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    kProjectOption<RequestsOrder>,
    kJsonOption<RequestsOrder>,
    kHelpOption<RequestsOrder>,
};

constexpr Form kForm = {
    .verb = "net requests",
    .usage = "[OPTIONS] SANDBOX",
    .text =
        "Lists what a sandbox was denied or asks for, as requests that await a decision; approves or rejects one. "
        "This\n"
        "needs the scope approve where the caller has a key.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove net requests box\n"
        "  cove net requests --approve b30ujyaop2asl5cg5v1c box\n"
        "  cove net requests --reject b30ujyaop2asl5cg5v1c --reason 'use the mirror' box",
};

std::string table_of(const std::vector<Json>& requests) {
  constexpr size_t kReasons = 50;
  Table table({"ID", "RULE", "TRIES", "AGE", "STATE", "REASON"});
  const Time now = std::chrono::system_clock::now();
  for (const Json& request : requests)
    table.add({printable(text_of(request, "id")), printable(text_of(request, "rule")),
               std::to_string(client::count_of(request, "count")), age(text_of(request, "created_at"), now),
               printable(text_of(request, "state")), shorten(printable(text_of(request, "reason")), kReasons)});
  return table.text();
}

Result<void> check(const RequestsOrder& order) {
  if (!order.approve.empty() && !order.reject.empty())
    return fail(Code::Invalid, "--approve and --reject cannot be combined");
  if (order.approve.empty() && order.how != "session")
    return fail(Error(Code::Invalid, concat("--", order.how, " needs a request")).hint("write --approve ID"));
  if (order.reject.empty() && !order.reason.empty()) return fail(Code::Invalid, "--reason requires --reject");
  return {};
}

// Bound to the rule that the list shows.
Result<Json> decide(Api& api, const RequestsOrder& order, const std::string& sandbox) {
  const std::string& id = order.approve.empty() ? order.reject : order.approve;
  Json body = {{"id", id}};
  for (const Json& request : COVE_TRY(api.network_requests(sandbox)))
    if (text_of(request, "id") == id) body["rule"] = text_of(request, "rule");
  if (!order.approve.empty())
    body["approve"] = order.how;
  else
    body["reject"] = true;
  if (!order.reason.empty()) body["reason"] = order.reason;
  return api.decide_network_request(sandbox, body);
}

Result<std::vector<Json>> wanted(Api& api, const RequestsOrder& order, const std::string& sandbox) {
  if (!order.approve.empty() || !order.reject.empty()) return std::vector{COVE_TRY(decide(api, order, sandbox))};
  std::vector<Json> requests = COVE_TRY(api.network_requests(sandbox));
  if (!order.all) std::erase_if(requests, [](const Json& request) { return text_of(request, "state") != "pending"; });
  return requests;
}

Result<std::vector<Json>> act(const RequestsOrder& order, const std::string& sandbox) {
  COVE_TRY(check(order));
  Api api = COVE_TRY(open_server(order));
  return wanted(api, order, sandbox);
}

int requests(const Arguments& args) {
  auto words = read_words<RequestsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  Result<std::vector<Json>> found = act(words->order, words->operands[0]);
  if (!found) return complain(found.error());
  return print_list(*found, list_form(false, words->order.json), table_of);
}

}  // namespace

Verb net_requests_verb() {
  return {"requests",
          "list, approve or reject requests for access",
          requests,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
