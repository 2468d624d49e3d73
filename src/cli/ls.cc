#include <algorithm>

#include "base/text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/times.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::number_of;
using client::text_of;

struct LsOrder : CommonOrder {
  bool all = false;
  bool quiet = false;
  client::SandboxQuery query;
};

Result<void> add_filter(LsOrder& order, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  bool known = name == "label" || name == "state" || name == "status" || name == "name";
  if (!known || value.empty())
    return fail(Error(Code::Invalid, concat("'", text, "' is not a filter"))
                    .hint("write label=KEY=VALUE, state=STATE or name=NAME"));
  if (name == "label")
    order.query.labels.push_back(value);
  else
    (name == "name" ? order.query.name : order.query.state) = value;
  return {};
}

constexpr Option<LsOrder> kOptions[] = {
    {{"all", 'a', "", "also list stopped sandboxes", "Options"},
     [](LsOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    {{"filter", 'f', "NAME=VALUE", "label=KEY=VALUE, state=STATE or name=NAME", "Options"}, add_filter},
    {{"quiet", 'q', "", "print only ids", "Options"},
     [](LsOrder& order, const std::string&) -> Result<void> {
       order.quiet = true;
       return {};
     }},
    kProjectOption<LsOrder>,
    kJsonOption<LsOrder>,
    kHelpOption<LsOrder>,
};

constexpr Form kForm = {
    .verb = "ls",
    .usage = "[OPTIONS]",
    .text = "Lists running and paused sandboxes; with -a, all of them.",
};

std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  return text;
}

std::string name_or_dash(const Json& sandbox) {
  std::string name = text_of(sandbox, "name");
  return name.empty() ? "-" : printable(name);
}

// By its age or by its idle time, whichever comes first.
std::string expiry_of(const Json& sandbox, Time now) {
  std::optional<Time> end = parse_time(text_of(sandbox, "expires_at"));
  std::optional<Time> used = parse_time(text_of(sandbox, "last_used_at"));
  const auto idle =
      std::chrono::milliseconds(static_cast<int64_t>(number_of(client::field(sandbox, "lifecycle"), "idle_ms")));
  const bool counts = used && idle.count() > 0 && text_of(sandbox, "state") == "running";
  if (!counts || (end && *end < *used + idle)) return time_left(text_of(sandbox, "expires_at"), now);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*used + idle - now);
  return concat("in ", short_duration(left), " if idle");
}

std::string table_of(const std::vector<Json>& sandboxes) {
  Table table({"ID", "NAME", "STATE", "IMAGE", "CPUS", "MEMORY", "AGE", "EXPIRES"});
  Time now = std::chrono::system_clock::now();
  for (const Json& sandbox : sandboxes) {
    const Json& limits = client::field(sandbox, "limits");
    table.add({printable(text_of(sandbox, "id")), name_or_dash(sandbox), printable(text_of(sandbox, "state")),
               printable(text_of(sandbox, "image")), number_text(number_of(limits, "cpus")),
               format_bytes(client::count_of(limits, "memory_bytes")), age(text_of(sandbox, "created_at"), now),
               expiry_of(sandbox, now)});
  }
  return table.text();
}

Result<std::vector<Json>> list(const LsOrder& order) {
  Api api = COVE_TRY(open_server(order));
  std::vector<Json> sandboxes = COVE_TRY(api.sandboxes(order.query));
  if (!order.all && order.query.state.empty())
    std::erase_if(sandboxes, [](const Json& sandbox) { return text_of(sandbox, "state") == "stopped"; });
  return sandboxes;
}

int ls(const Arguments& args) {
  auto words = read_words<LsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto sandboxes = list(words->order);
  if (!sandboxes) return complain(sandboxes.error());
  return print_list(*sandboxes, list_form(words->order.quiet, words->order.json), table_of);
}

}  // namespace

Verb ls_verb() {
  return {"ls", "list sandboxes", ls, [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); }};
}

}  // namespace cove::cli
