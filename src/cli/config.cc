#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using client::text_of;

struct ShowOrder : CommonOrder {
  bool all = false;
};

constexpr Option<ShowOrder> kOptions[] = {
    {{"long", 'l', "", "with what each setting means", "Options"},
     [](ShowOrder& order, const std::string&) -> Result<void> {
       order.all = true;
       return {};
     }},
    kJsonOption<ShowOrder>,
    kHelpOption<ShowOrder>,
};
constexpr Form kForm = {
    .verb = "config show",
    .usage = "[OPTIONS]",
    .text =
        "Shows the settings of the server that is running, and where each value comes from. Where none is running, "
        "tells\n"
        "which file one would read.",
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string config_file() {
  if (std::string named = variable("COVE_CONFIG"); !named.empty()) return named;
  if (::geteuid() == 0) return "/etc/cove/cove.toml";
  if (std::string folder = variable("XDG_CONFIG_HOME"); !folder.empty()) return folder + "/cove/cove.toml";
  return variable("HOME") + "/.config/cove/cove.toml";
}

// Text as it is, all else as JSON.
std::string value_text(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : client::dump(value));
}

std::string table_of(const std::vector<Json>& settings) {
  Table table({"SETTING", "VALUE", "FROM"});
  for (const Json& setting : settings)
    table.add({printable(text_of(setting, "name")), value_text(client::field(setting, "value")),
               printable(text_of(setting, "source"))});
  return table.text();
}

std::string description_of(const std::vector<Json>& settings) {
  std::string text;
  for (const Json& setting : settings)
    text += concat(printable(text_of(setting, "name")), " = ", value_text(client::field(setting, "value")),
                   "\n    from: ", printable(text_of(setting, "source")),
                   "; default: ", value_text(client::field(setting, "default")), "\n    ",
                   printable(text_of(setting, "description")), "\n");
  return text;
}

int show_file(const ShowOrder& order) {
  std::string file = config_file();
  bool exists = sys::exists(file);
  if (order.json) return print_json({{"file", file}, {"exists", exists}}) ? 0 : kOwnFailure;
  return print(concat("No server is running. One would read ", file, exists ? "" : " (which does not exist)", ".\n"))
             ? 0
             : kOwnFailure;
}

int show(const Arguments& args) {
  auto words = read_words<ShowOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const ShowOrder& order = words->order;
  auto api = open_server(order, client::WhenAbsent::Fail);
  if (!api && api.error().code() == Code::Unavailable && variable("COVE_HOST").empty()) return show_file(order);
  if (!api) return complain(api.error());
  auto settings = api->settings();
  if (!settings) return complain(settings.error());
  bool printed = order.json  ? print_json({{"settings", *settings}})
                 : order.all ? print(description_of(*settings))
                             : print(table_of(*settings));
  return printed ? 0 : kOwnFailure;
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {
      {"show", "the settings and where they come from", show, [] { return form_help(kForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
  };
  return kParts;
}

std::string config_help() {
  return parts_help(
      config_verb(),
      "The server's configuration: a TOML file, on top of it variables COVE_…, on top of those the flags of\n"
      "cove serve.");
}

}  // namespace

Verb config_verb() {
  return {"config",
          "show the server's settings",
          [](const Arguments& args) { return act_on_part(config_verb(), args); },
          config_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
