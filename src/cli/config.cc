#include "config/config.h"

#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "cli/session.h"
#include "cli/table.h"
#include "cli/words.h"
#include "config/edit.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

using client::text_of;

struct ShowOrder : CommonOrder {
  bool all = false;
};

constexpr Option<ShowOrder> kOptions[] = {
    {{"long", 'l', "", "show what each setting means", "Options"},
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
        "Shows the settings of the running server, and where each value comes from. If no server is running, shows\n"
        "the settings it would start with.",
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

// Strings as they are, everything else as JSON.
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

// The settings that a server would start with.
Result<std::vector<Json>> own_settings(std::string& file) {
  Config config = COVE_TRY(load_config({}));
  std::vector<Json> list;
  for (const Setting& setting : settings(config))
    list.push_back({{"name", setting.name},
                    {"value", setting.value},
                    {"source", setting.source},
                    {"default", setting.default_value},
                    {"description", setting.description}});
  file = config.file;
  return list;
}

int print_settings(const ShowOrder& order, const std::vector<Json>& settings) {
  bool printed = order.json  ? print_json({{"settings", settings}})
                 : order.all ? print(description_of(settings))
                             : print(table_of(settings));
  return printed ? 0 : kOwnFailure;
}

int show_own(const ShowOrder& order) {
  std::string file;
  auto list = own_settings(file);
  if (!list) return complain(list.error());
  tell(concat("no server is running; it would start with these settings, ",
              file.empty() ? concat("without a file (", config_file(), " does not exist)") : concat("from ", file)));
  return print_settings(order, *list);
}

int show(const Arguments& args) {
  auto words = read_words<ShowOrder>(kForm, kOptions, args);
  if (!words) return words.error();
  const ShowOrder& order = words->order;
  auto api = open_server(order, client::WhenAbsent::Fail);
  if (!api && api.error().code() == Code::Unavailable && variable("COVE_HOST").empty()) return show_own(order);
  if (!api) return complain(api.error());
  auto settings = api->settings();
  if (!settings) return complain(settings.error());
  return print_settings(order, *settings);
}

// --- check and set ---------------------------------------------------------------------------------------------------
struct FileOrder : CommonOrder {
  std::string file;
};

constexpr Option<FileOrder> kSetOptions[] = {
    {{"config", '\0', "FILE", "the file to change (default: the file that your server\nreads)", "Options"},
     [](FileOrder& order, const std::string& text) -> Result<void> {
       order.file = text;
       return {};
     }},
    kHelpOption<FileOrder>,
};
constexpr Option<CommonOrder> kCheckOptions[] = {kHelpOption<CommonOrder>};

constexpr Form kCheckForm = {
    .verb = "config check",
    .usage = "[FILE]",
    .text =
        "Checks whether a server would start with a configuration file and the COVE_… variables that are set now.\n"
        "Without FILE, checks the file that your server would read.",
    .most = 1,
};
constexpr Form kSetForm = {
    .verb = "config set",
    .usage = "[OPTIONS] NAME VALUE",
    .text =
        "Changes a setting in the configuration file after checking the value. The rest of the file is unchanged.\n"
        "Separate the items of a list with commas. A server reads the file when it starts.",
    .least = 2,
    .most = 2,
    .more =
        "Examples:\n"
        "  cove config set limits.memory 4g\n"
        "  cove config set images.registry registry.example.org:5000\n"
        "  cove config set listen unix:/run/cove/api.sock,tcp:127.0.0.1:7070",
};

Result<std::string> check_file(const std::string& file) {
  ConfigSources sources;
  sources.file = file;
  return COVE_TRY(load_config(sources)).file;
}

int check(const Arguments& args) {
  auto words = read_words<CommonOrder>(kCheckForm, kCheckOptions, args);
  if (!words) return words.error();
  auto file = check_file(words->operands.empty() ? "" : words->operands[0]);
  if (!file) return complain(file.error());
  std::string found = file->empty() ? config_file() + " does not exist: the defaults apply\n" : *file + ": ok\n";
  return print(found) ? 0 : kOwnFailure;
}

// Written to a temporary file, checked and then renamed, so that the file is always complete.
Result<void> replace_file(const std::string& path, const std::string& text) {
  Result<struct stat> old = sys::stat(path);
  const std::string fresh = concat(path, ".new-", ::getpid());
  const mode_t mode = old ? old->st_mode & 0777 : 0644;
  UniqueFd file = COVE_TRY(sys::open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  Result<void> written = sys::write_all(file.get(), text);
  if (written && ::fsync(file.get()) < 0) written = fail_errno(concat("fsync ", fresh));
  if (Result<std::string> checked = check_file(fresh); written && !checked) written = fail(std::move(checked).error());
  if (written) written = sys::rename(fresh, path);
  if (!written) ::unlink(fresh.c_str());
  return written;
}

Result<void> change(const std::string& path, const std::string& name, const std::string& value) {
  Result<std::string> text = sys::read_file(path, 1 << 20);
  if (!text && text.error().code() != Code::NotFound) return fail(std::move(text).error());
  std::string changed = COVE_TRY_NOTE(path, with_setting(text.value_or(""), name, value));
  if (!text) COVE_TRY(sys::make_folders(path.substr(0, path.rfind('/')), 0755));
  return replace_file(path, changed);
}

int set(const Arguments& args) {
  auto words = read_words<FileOrder>(kSetForm, kSetOptions, args);
  if (!words) return words.error();
  const std::string file = words->order.file.empty() ? config_file() : words->order.file;
  if (auto changed = change(file, words->operands[0], words->operands[1]); !changed) return complain(changed.error());
  tell(concat("changed ", file, "; a running server reads it when it is restarted (cove stop-server)"));
  return 0;
}

std::span<const Verb> parts() {
  static const Verb kParts[] = {
      {"show", "the settings and where they come from", show, [] { return form_help(kForm, option_infos(kOptions)); },
       [] { return option_infos(kOptions); }},
      {"set", "change a setting in the file", set, [] { return form_help(kSetForm, option_infos(kSetOptions)); },
       [] { return option_infos(kSetOptions); }},
      {"check", "check the file", check, [] { return form_help(kCheckForm, option_infos(kCheckOptions)); },
       [] { return option_infos(kCheckOptions); }, Completes::Files},
  };
  return kParts;
}

std::string config_help() {
  return parts_help(
      config_verb(),
      "Configures the server. Settings come from a TOML file; COVE_… variables override it, and the flags of\n"
      "cove serve override both.");
}

}  // namespace

Verb config_verb() {
  return {"config",
          "show, change and check the server's settings",
          [](const Arguments& args) { return act_on_part(config_verb(), args); },
          config_help,
          [] { return std::vector<OptionInfo>(); },
          Completes::Nothing,
          parts};
}

}  // namespace cove::cli
