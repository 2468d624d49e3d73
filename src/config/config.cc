#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

#include "base/text.h"
#include "config/languages.h"
#include "config/table.h"
#include "model/limit_fields.h"
#include "sys/file.h"
#include "sys/own_folder.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace cove {
namespace {

constexpr size_t kMaxFile = 1 << 20;
constexpr const char* kLanguages = "languages";

uid_t user_of(const ConfigSources& sources) {
  return sources.uid == static_cast<uid_t>(-1) ? ::geteuid() : sources.uid;
}

// Empty if it is not set.
std::string variable(const ConfigSources& sources, const std::string& name) {
  if (sources.env) return sources.env(name).value_or("");
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

std::string absolute_variable(const ConfigSources& sources, const std::string& name) {
  std::string value = variable(sources, name);
  return value.starts_with('/') ? value : "";
}

const ConfigEntry* find_entry(const std::string& name) {
  for (const ConfigEntry& entry : config_table())
    if (entry.name == name) return &entry;
  return nullptr;
}

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

// Suggests a setting: the same name in another section, otherwise the nearest name.
const ConfigEntry* nearest_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const ConfigEntry& entry : config_table()) {
    if (last_word(entry.name) == last_word(name)) return &entry;
    names.push_back(entry.name);
  }
  return find_entry(closest(name, names));
}

Error unknown(const std::string& where, const std::string& what, const std::string& meant) {
  return Error(Code::Invalid, concat(where, ": unknown setting '", what, "'"))
      .hint(meant.empty() ? "`cove config show` lists all settings" : concat("did you mean '", meant, "'?"));
}

// Sets it and records its source.
Result<void> apply(Config& config, const ConfigEntry& entry, const std::vector<std::string>& values,
                   const std::string& source) {
  auto refuse = [&](Error error) {
    return fail(std::move(error).note(entry.name).note(source).hint(concat(entry.name, " takes ", entry.accepted)));
  };
  if (!entry.list && values.size() != 1)
    return refuse(Error(Code::Invalid, "several values were given for a setting with one value"));
  if (Result<void> done = entry.set(config, values); !done) return refuse(std::move(done).error());
  config.sources[entry.name] = source;
  return {};
}

// "a,b" for a list.
std::vector<std::string> values_of(const ConfigEntry& entry, const std::string& text) {
  if (!entry.list) return {text};
  std::vector<std::string> values;
  for (const std::string& piece : split(text, ','))
    if (!trim(piece).empty()) values.emplace_back(trim(piece));
  return values;
}

// --- the file --------------------------------------------------------------------------------------------------------
Result<std::string> text_of(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return *text;
  if (auto number = node.value_exact<int64_t>()) return std::to_string(*number);
  if (auto on = node.value_exact<bool>()) return std::string(*on ? "true" : "false");
  if (auto number = node.value_exact<double>()) {
    char digits[400];
    return std::string(digits, std::to_chars(digits, digits + sizeof digits, *number, std::chars_format::fixed).ptr);
  }
  return fail(Code::Invalid, "this type of value is not supported");
}

Result<std::vector<std::string>> texts_of(const toml::node& node) {
  std::vector<std::string> texts;
  const toml::array* items = node.as_array();
  if (items == nullptr) return std::vector<std::string>{COVE_TRY(text_of(node))};
  for (const toml::node& item : *items) texts.push_back(COVE_TRY(text_of(item)));
  return texts;
}

Result<void> apply_node(Config& config, const ConfigEntry& entry, const toml::node& node, const std::string& where) {
  Result<std::vector<std::string>> texts = texts_of(node);
  if (!texts)
    return fail(
        std::move(texts).error().note(entry.name).note(where).hint(concat(entry.name, " takes ", entry.accepted)));
  return apply(config, entry, *texts, where);
}

bool is_section(const std::string& name) {
  return std::any_of(config_table().begin(), config_table().end(),
                     [&](const ConfigEntry& entry) { return entry.section() == name; });
}

std::string nearest_section(const std::string& name) {
  std::vector<std::string> sections;
  for (const ConfigEntry& entry : config_table()) sections.push_back(entry.section());
  sections.emplace_back(kLanguages);
  return closest(name, sections);
}

// Only one section has more than names and values.
Result<ConfigNode> node_of(const std::string& key, const toml::node& node, const std::string& where,
                           const std::string& path) {
  ConfigNode result{key, where, node.is_table(), {}, node.is_array(), {}};
  if (!node.is_table()) {
    Result<std::vector<std::string>> texts = texts_of(node);
    if (!texts) return fail(std::move(texts).error().note(key).note(where).hint("write strings in \"quotes\""));
    result.texts = std::move(*texts);
    return result;
  }
  for (const auto& [name, inner] : *node.as_table())
    result.below.push_back(
        COVE_TRY(node_of(std::string(name.str()), inner, concat(path, ":", name.source().begin.line), path)));
  return result;
}

Result<void> apply_table(Config& config, const toml::table& table, const std::string& section,
                         const std::string& path) {
  for (const auto& [key, node] : table) {
    std::string name = section.empty() ? std::string(key.str()) : concat(section, ".", key.str());
    std::string where = concat(path, ":", key.source().begin.line);
    if (name == kLanguages && node.is_table()) {
      COVE_TRY(apply_languages(config, COVE_TRY(node_of(name, node, where, path))));
    } else if (const ConfigEntry* entry = find_entry(name)) {
      COVE_TRY(apply_node(config, *entry, node, where));
    } else if (const toml::table* inner = node.as_table()) {
      if (!section.empty() || !is_section(name)) return fail(unknown(where, name, nearest_section(name)));
      COVE_TRY(apply_table(config, *inner, name, path));
    } else {
      const ConfigEntry* meant = nearest_entry(name);
      return fail(unknown(where, name, meant == nullptr ? "" : meant->name));
    }
  }
  return {};
}

Result<void> apply_file(Config& config, const std::string& path) {
  std::string text = COVE_TRY_NOTE("read the configuration", sys::read_file(path, kMaxFile + 1));
  if (text.size() > kMaxFile) return fail(Code::Invalid, concat(path, " is larger than ", format_bytes(kMaxFile)));
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail(
        Error(Code::Invalid, concat(path, ":", parsed.error().source().begin.line, ": ", parsed.error().description()))
            .hint("the file is TOML: name = value, with strings in \"quotes\""));
  config.file = path;
  return apply_table(config, parsed.table(), "", path);
}

Result<void> apply_files(Config& config, const ConfigSources& sources) {
  std::string named = sources.file.empty() ? variable(sources, "COVE_CONFIG") : sources.file;
  if (!named.empty()) return apply_file(config, named);
  std::string path = default_config_file(sources);
  if (path.empty()) return {};
  // Only a missing file is accepted: one that cannot be read may contain important settings.
  Result<void> done = apply_file(config, path);
  if (!done && done.error().errnum() == ENOENT) return {};
  return done;
}

// --- variables and flags
// -----------------------------------------------------------------------------------------------
Result<void> apply_variables(Config& config, const ConfigSources& sources) {
  for (const ConfigEntry& entry : config_table()) {
    std::string value = variable(sources, entry.variable());
    if (!value.empty()) COVE_TRY(apply(config, entry, values_of(entry, value), entry.variable()));
  }
  return {};
}

// The name as a flag, with "--" and dashes.
std::string flag_form(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return name.starts_with("--") ? name : "--" + name;
}

const ConfigEntry* find_flag(const std::string& flag) {
  for (const ConfigEntry& entry : config_table())
    if (entry.flag() == flag) return &entry;
  return nullptr;
}

std::string nearest_flag(const std::string& flag) {
  std::vector<std::string> flags;
  for (const ConfigEntry& entry : config_table()) flags.push_back(entry.flag());
  return closest(flag, flags);
}

Result<void> apply_flags(Config& config, const ConfigSources& sources) {
  std::map<std::string, std::vector<std::string>> lists;
  for (const auto& [name, value] : sources.flags) {
    std::string flag = flag_form(name);
    const ConfigEntry* entry = find_flag(flag);
    if (entry == nullptr) return fail(unknown(flag, name, nearest_flag(flag)));
    std::vector<std::string> values = values_of(*entry, value);
    if (entry->list) {
      // Each use of the flag adds to those before it.
      std::vector<std::string>& all = lists[entry->name];
      all.insert(all.end(), values.begin(), values.end());
      values = all;
    }
    COVE_TRY(apply(config, *entry, values, flag));
  }
  return {};
}

// --- defaults and checks
// -----------------------------------------------------------------------------------------------
std::string default_socket(const ConfigSources& sources) {
  std::string state = absolute_variable(sources, sys::kStateFolder.variable);
  if (!state.empty()) return state + "/run/api.sock";
  return sys::run_folder_of(user_of(sources), absolute_variable(sources, "XDG_RUNTIME_DIR")) + "/api.sock";
}

Config make_defaults(const ConfigSources& sources) {
  Config config;
  ListenAddress address;
  address.path = default_socket(sources);
  config.listen = {address};
  config.state = user_of(sources) == 0 ? sys::kStateFolder.of_root : sys::find_folder(sys::kStateFolder).value_or("");
  for (const ConfigEntry& entry : config_table()) config.defaults[entry.name] = entry.get(config);
  return config;
}

std::string source_of(const Config& config, const std::string& name) {
  auto found = config.sources.find(name);
  return found == config.sources.end() ? "default" : found->second;
}

// By the names that the table has.
Result<void> settle_pool(Config& config) {
  for (std::string& name : config.pool.languages) {
    Result<LanguageWish> known = parse_language(config.languages, name);
    if (!known) return fail(std::move(known).error().note("pool.languages").note(source_of(config, "pool.languages")));
    name = known->name;
  }
  return {};
}

// A caller that names no limit gets the default, which must not exceed the maximum.
Result<void> check_maxima(const Config& config) {
  Limits usual = config.limits;
  if (usual.disk.value == 0) usual.disk = kDefaultDisk;
  std::string_view name;
  auto look = [&](const LimitField& field, const auto& limit, const auto& most) {
    const bool unlimited = to_number(limit.value) == 0 && field.zero != LimitZero::Nothing;
    if (name.empty() && to_number(most.value) > 0 && (unlimited || limit.value > most.value)) name = field.name;
  };
  visit_limits(look, usual, config.maxima.most);
  if (name.empty()) return {};
  const std::string setting = concat("maxima.", name);
  return fail(Error(Code::Invalid,
                    concat(source_of(config, setting), ": ", setting, " is less than the default limit of a sandbox"))
                  .hint(concat("set limits.", name, " to at most as much")));
}

Result<void> check(const Config& config) {
  COVE_TRY(check_maxima(config));
  if (config.state.empty()) COVE_TRY(sys::find_folder(sys::kStateFolder));
  if (config.listen.empty())
    return fail(Code::Invalid, concat(source_of(config, "listen"), ": listen contains no address"));
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    const char* given = config.tls_cert.empty() ? "tls_key" : "tls_cert";
    return fail(Error(Code::Invalid,
                      concat(source_of(config, given), ": ", std::string_view(given), " is set without the other"))
                    .hint("set both tls_cert and tls_key, or neither"));
  }
  for (const ListenAddress& address : config.listen)
    if (reaches_beyond_machine(address) && config.tls_cert.empty() && !config.allow_insecure)
      return fail(Error(Code::Invalid, concat(source_of(config, "listen"), ": ", to_text(address),
                                              " can be reached from other machines, but TLS is not configured"))
                      .hint("set tls_cert and tls_key, listen at 127.0.0.1, or set allow_insecure"));
  return {};
}

}  // namespace

std::string default_config_file(const ConfigSources& sources) {
  if (user_of(sources) == 0) return "/etc/cove/cove.toml";
  std::string base = absolute_variable(sources, "XDG_CONFIG_HOME");
  if (base.empty() && !absolute_variable(sources, "HOME").empty()) base = variable(sources, "HOME") + "/.config";
  return base.empty() ? "" : base + "/cove/cove.toml";
}

Result<Config> load_config(const ConfigSources& sources) {
  Config config = make_defaults(sources);
  COVE_TRY(apply_files(config, sources));
  COVE_TRY(apply_variables(config, sources));
  COVE_TRY(apply_flags(config, sources));
  COVE_TRY(settle_pool(config));
  COVE_TRY(check(config));
  return config;
}

std::vector<Setting> settings(const Config& config) {
  std::vector<Setting> list;
  for (const ConfigEntry& entry : config_table()) {
    auto usual = config.defaults.find(entry.name);
    list.push_back({entry.name, entry.get(config), source_of(config, entry.name),
                    usual == config.defaults.end() ? "" : usual->second, entry.description, entry.type,
                    entry.variable(), entry.flag()});
  }
  for (Setting& setting : language_settings(config)) list.push_back(std::move(setting));
  return list;
}

std::string describe_settings() {
  const Config usual;
  std::string text = "| setting | takes | default | what it is |\n|---|---|---|---|\n";
  for (const ConfigEntry& entry : config_table()) {
    std::string value = entry.get(usual);
    std::string shown = !entry.default_words.empty() ? entry.default_words
                        : value.empty()              ? ""
                                                     : concat("`", value, "`");
    text += concat("| `", entry.name, "` | ", entry.accepted, " | ", shown, " | ", entry.description, " |\n");
  }
  for (const Setting& each : language_settings(usual))
    text += concat("| `", each.name, "` | ", each.type, " | `", each.value, "` | ", each.description, " |\n");
  return text;
}

}  // namespace cove
