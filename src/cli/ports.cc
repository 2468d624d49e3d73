#include <algorithm>

#include "base/text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"

namespace cove::cli {
namespace {

using client::text_of;

struct PortsOrder : CommonOrder {
  struct Change {
    uint16_t port;
    const char* access;
  };
  std::vector<Change> changes;
  std::string ttl = "24h";
};

Result<void> add_change(PortsOrder& order, const std::string& text, const char* access) {
  int64_t port = COVE_TRY(parse_integer(text, 1, UINT16_MAX));
  order.changes.push_back({static_cast<uint16_t>(port), access});
  return {};
}

constexpr Option<PortsOrder> kOptions[] = {
    {{"public", '\0', "PORT", "show the port to anyone who reaches the server", "Options"},
     [](PortsOrder& order, const std::string& text) { return add_change(order, text, "public"); }},
    {{"private", '\0', "PORT", "show it to holders of an API key or a link; ends all\nearlier links", "Options"},
     [](PortsOrder& order, const std::string& text) { return add_change(order, text, "private"); }},
    {{"token", '\0', "PORT", "show it to holders of a link only; ends all earlier links", "Options"},
     [](PortsOrder& order, const std::string& text) { return add_change(order, text, "token"); }},
    {{"ttl", '\0', "TIME", "how long the printed links work (default: 24h)", "Options"},
     [](PortsOrder& order, const std::string& text) -> Result<void> {
       COVE_TRY(parse_duration(text));
       order.ttl = text;
       return {};
     }},
    kProjectOption<PortsOrder>,
    kJsonOption<PortsOrder>,
    kHelpOption<PortsOrder>,
};

constexpr Form kForm = {
    .verb = "ports",
    .usage = "[OPTIONS] SANDBOX",
    .text = "Lists the ports at which programs in a sandbox listen, with links that open them in a browser.",
    .least = 1,
    .most = 1,
    .more =
        "Examples:\n"
        "  cove ports box\n"
        "  cove ports --public 3000 box",
};

// With `link`: the URL, and a token where one is needed.
Result<void> add_link(Api& api, const std::string& sandbox, const std::string& ttl, Json& port) {
  port["link"] = client::field(port, "url");
  if (text_of(port, "url").empty() || text_of(port, "access") == "public") return {};
  Json link = COVE_TRY(api.create_token(sandbox, {{"port", client::count_of(port, "port")}, {"ttl", ttl}}));
  port["link"] = client::field(link, "url");
  return {};
}

Result<std::vector<Json>> find(const PortsOrder& order, const std::string& sandbox) {
  Api api = COVE_TRY(open_server(order));
  for (const PortsOrder::Change& change : order.changes)
    COVE_TRY(api.update_port(sandbox, change.port, {{"access", change.access}}));
  std::vector<Json> ports = COVE_TRY(api.ports(sandbox));
  for (Json& port : ports) COVE_TRY(add_link(api, sandbox, order.ttl, port));
  return ports;
}

std::string table_of(const std::vector<Json>& ports) {
  constexpr size_t kWidth = 40;
  Table table({"PORT", "PROCESS", "ACCESS", "LINK"});
  for (const Json& port : ports) {
    const Json& process = client::field(port, "process");
    const std::string command = printable(text_of(process, "command"));
    const std::string link = text_of(port, "link");
    table.add({concat(client::count_of(port, "port")), command.empty() ? "-" : shorten(command, kWidth),
               text_of(port, "access"), link.empty() ? "-" : printable(link)});
  }
  return table.text();
}

void tell_silent(const std::vector<PortsOrder::Change>& changes, const std::vector<Json>& ports) {
  for (const PortsOrder::Change& change : changes) {
    auto is_it = [&](const Json& port) { return client::count_of(port, "port") == change.port; };
    if (std::ranges::none_of(ports, is_it))
      tell(concat("port ", change.port, " is ", change.access, "; nothing listens there yet"));
  }
}

void advise(const std::vector<Json>& ports, const std::string& sandbox) {
  if (ports.empty()) return tell(concat("nothing listens in sandbox ", sandbox));
  if (text_of(ports.front(), "link").empty())
    tell(concat("the server serves no previews (setting preview.listen); use cove forward ", sandbox, " PORT"));
}

int list_ports(const Arguments& args) {
  auto words = read_words<PortsOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  auto ports = find(words->order, words->operands[0]);
  if (!ports) return complain(ports.error());
  if (!words->order.json) {
    tell_silent(words->order.changes, *ports);
    advise(*ports, words->operands[0]);
  }
  return print_list(*ports, list_form(false, words->order.json), table_of);
}

}  // namespace

Verb ports_verb() {
  return {"ports",
          "list what listens, with links for a browser",
          list_ports,
          [] { return form_help(kForm, option_infos(kOptions)); },
          [] { return option_infos(kOptions); },
          Completes::Sandboxes};
}

}  // namespace cove::cli
