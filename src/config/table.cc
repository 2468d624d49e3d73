#include "config/table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace cove {
namespace {

using Values = std::vector<std::string>;
using std::chrono::milliseconds;

constexpr int64_t kMany = 1'000'000'000;

// --- from text and back ------------------------------------------------------------------------------------------
struct TextUnit {
  std::string_view name;
  uint64_t size;
};

// In the largest unit that leaves nothing over.
std::string in_units(uint64_t number, std::initializer_list<TextUnit> units, std::string_view smallest) {
  if (number == 0) return "0";
  for (const TextUnit& unit : units)
    if (number % unit.size == 0) return concat(number / unit.size, unit.name);
  return concat(number, smallest);
}

std::string size_text(uint64_t bytes) {
  return in_units(bytes, {{"t", kGiB * 1024}, {"g", kGiB}, {"m", kMiB}, {"k", kKiB}}, "");
}

std::string duration_text(milliseconds duration) {
  return in_units(static_cast<uint64_t>(duration.count()),
                  {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}, "ms");
}

std::string number_text(double number) {
  char digits[64];
  auto end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed);
  return end.ec == std::errc() ? std::string(digits, end.ptr) : std::to_string(number);
}

Result<bool> parse_switch(const std::string& text) {
  for (const char* word : {"true", "yes", "on", "1", ""})
    if (text == word) return true;
  for (const char* word : {"false", "no", "off", "0"})
    if (text == word) return false;
  return fail(Code::Invalid, concat("'", text, "' is neither true nor false"));
}

Result<std::string> parse_path(const std::string& text) {
  if (text.starts_with('/') && text.find('\0') == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not an absolute path"));
}

Result<std::string> parse_host(const std::string& text) {
  if (!text.empty() && text.find_first_of("/ \t\n") == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not the name of a host"));
}

Result<std::string> parse_registry(const std::string& text) {
  if (text.find_first_of(" \t\n@") == std::string::npos && !text.starts_with('/') &&
      text.find("://") == std::string::npos)
    return text;
  return fail(Code::Invalid, concat("'", text, "' is not a registry"));
}

Result<std::string> parse_origin(const std::string& text) {
  size_t colon = text.find("://");
  bool valid = colon != std::string::npos && colon > 0 && text.size() > colon + 3 &&
               text.find_first_of("/ \t\n*", colon + 3) == std::string::npos;
  if (valid) return text;
  return fail(Code::Invalid, concat("'", text, "' is not an origin"));
}

// Whether there is such a language is known when the whole file is.
Result<std::string> parse_name(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n") == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not the name of a language"));
}

Result<LogLevel> parse_log_level(const std::string& text) {
  for (LogLevel level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error})
    if (text == log_level_name(level)) return level;
  return fail(Code::Invalid, concat("'", text, "' is not a log level"));
}

// --- forms of settings: `field` gives the place of the value in a Config ------------------------------------------
enum class Zero { Refused, Allowed };

template <typename Field, typename Parse, typename Write>
ConfigEntry single(std::string name, std::string description, Field field, Parse parse, Write write) {
  ConfigEntry entry;
  entry.name = std::move(name);
  entry.description = std::move(description);
  entry.set = [field, parse](Config& config, const Values& values) -> Result<void> {
    field(config) = COVE_TRY(parse(values.front()));
    return {};
  };
  entry.get = [field, write](const Config& config) { return write(field(config)); };
  return entry;
}

ConfigEntry typed(ConfigEntry entry, std::string type, std::string accepted) {
  entry.type = std::move(type);
  entry.accepted = std::move(accepted);
  return entry;
}

template <typename Field>
ConfigEntry size(std::string name, Zero zero, std::string description, Field field) {
  auto parse = [zero](const std::string& text) -> Result<uint64_t> {
    return zero == Zero::Allowed && text == "0" ? Result<uint64_t>(0) : parse_bytes(text);
  };
  return typed(single(std::move(name), std::move(description), field, parse, size_text), "size",
               zero == Zero::Allowed ? "a size, like 512m or 2g, or 0" : "a size, like 512m or 2g");
}

template <typename Field>
ConfigEntry duration(std::string name, Zero zero, std::string description, Field field) {
  auto parse = [zero](const std::string& text) -> Result<milliseconds> {
    return zero == Zero::Allowed && text == "0" ? Result<milliseconds>(0) : parse_duration(text);
  };
  return typed(single(std::move(name), std::move(description), field, parse, duration_text), "duration",
               zero == Zero::Allowed ? "a duration, like 30s, 5m or 1d, or 0" : "a duration, like 30s, 5m or 1d");
}

template <typename Field>
ConfigEntry count(std::string name, int64_t lowest, int64_t highest, std::string description, Field field) {
  auto parse = [lowest, highest](const std::string& text) -> Result<uint64_t> {
    return static_cast<uint64_t>(COVE_TRY(parse_integer(text, lowest, highest)));
  };
  auto write = [](uint64_t number) { return std::to_string(number); };
  return typed(single(std::move(name), std::move(description), field, parse, write), "count",
               concat("a whole number from ", lowest, " to ", highest));
}

template <typename Field>
ConfigEntry number(std::string name, Zero zero, std::string description, Field field) {
  auto parse = [zero](const std::string& text) -> Result<double> {
    return zero == Zero::Allowed && text == "0" ? Result<double>(0) : parse_positive(text);
  };
  return typed(single(std::move(name), std::move(description), field, parse, number_text), "number",
               zero == Zero::Allowed ? "a number, like 2 or 0.5, or 0" : "a number above zero, like 2 or 0.5");
}

template <typename Field>
ConfigEntry on_off(std::string name, std::string description, Field field) {
  auto write = [](bool on) { return std::string(on ? "true" : "false"); };
  return typed(single(std::move(name), std::move(description), field, parse_switch, write), "switch", "true or false");
}

template <typename Field>
ConfigEntry path(std::string name, std::string description, Field field) {
  auto write = [](const std::string& text) { return text; };
  return typed(single(std::move(name), std::move(description), field, parse_path, write), "path", "an absolute path");
}

template <typename Field, typename Parse, typename Write>
ConfigEntry several(std::string name, std::string description, Field field, Parse parse, Write write) {
  ConfigEntry entry;
  entry.name = std::move(name);
  entry.description = std::move(description);
  entry.list = true;
  entry.set = [field, parse](Config& config, const Values& values) -> Result<void> {
    std::remove_reference_t<decltype(field(config))> items;
    for (const std::string& value : values) items.push_back(COVE_TRY(parse(value)));
    field(config) = std::move(items);
    return {};
  };
  entry.get = [field, write](const Config& config) {
    std::vector<std::string> texts;
    for (const auto& item : field(config)) texts.push_back(write(item));
    return join(texts, ",");
  };
  return entry;
}

template <typename Field, typename Parse>
ConfigEntry texts(std::string name, std::string description, Field field, Parse parse) {
  return several(std::move(name), std::move(description), field, parse, [](const std::string& text) { return text; });
}

#define FIELD(member) ([](auto& config) -> auto& { return config.member; })

// --- the table ----------------------------------------------------------------------------------------------------
void add_server(std::vector<ConfigEntry>& table) {
  table.push_back(typed(several(
                            "listen", "Where the server listens: Unix sockets and TCP addresses.", FIELD(listen),
                            [](const std::string& text) { return parse_listen(text); },
                            [](const ListenAddress& address) { return to_text(address); }),
                        "list of addresses", "unix:PATH, tcp:HOST:PORT or several of them"));
  table.back().default_words = "`unix:/run/cove/api.sock` for root, else `api.sock` in `$XDG_RUNTIME_DIR/cove`";
  table.push_back(path("state", "The folder of all that survives a restart.", FIELD(state)));
  table.back().default_words = "`/var/lib/cove` for root, else `$XDG_STATE_HOME/cove` or `~/.local/state/cove`";
  table.push_back(path("tls_cert", "The certificate (PEM) for TCP addresses; with tls_key.", FIELD(tls_cert)));
  table.push_back(path("tls_key", "The private key (PEM) of tls_cert.", FIELD(tls_key)));
  table.push_back(
      on_off("allow_insecure", "Listen on TCP addresses beyond this machine without TLS.", FIELD(allow_insecure)));
  table.push_back(
      typed(texts("allowed_hosts", "Names, beside localhost, that requests over TCP may have as their Host.",
                  FIELD(allowed_hosts), parse_host),
            "list of names", "names of hosts, like cove.example.org"));
  table.push_back(typed(texts("allowed_origins", "Web pages that may use the API from a browser, by their Origin.",
                              FIELD(allowed_origins), parse_origin),
                        "list of origins", "origins, like https://cove.example.org"));
  table.push_back(typed(texts("workspace_roots", "Folders in which workspaces of requests over TCP may lie.",
                              FIELD(workspace_roots), parse_path),
                        "list of paths", "absolute paths"));
  table.push_back(count("max_connections", 1, 1'000'000,
                        "The most connections at a time, at the Unix socket and at each TCP address.",
                        FIELD(max_connections)));
  table.push_back(size("max_body", Zero::Refused, "The longest JSON body of a request.", FIELD(max_body)));
  table.push_back(duration("idle_exit", Zero::Allowed,
                           "A server that a command started by itself ends after this long without use; 0: never.",
                           FIELD(idle_exit)));
  table.push_back(typed(single("log_level", "The least important messages that are logged.", FIELD(log_level),
                               parse_log_level, log_level_name),
                        "word", "debug, info, warning or error"));
  table.push_back(count("exec_retention", 1, kMany, "How many ended execs of each sandbox are kept, with their output.",
                        FIELD(exec_retention)));
  table.push_back(
      size("exec_logs", Zero::Refused,
           "How much is kept of the execs of each sandbox: their output and their results; that of ended ones is "
           "dropped first, from the oldest on. It counts to the disk quota of the project.",
           FIELD(exec_logs)));
}

void add_retention(std::vector<ConfigEntry>& table) {
  table.push_back(duration("retention.events", Zero::Allowed,
                           "How long events and ended sessions are kept; 0: for ever.", FIELD(retention.events)));
  table.push_back(duration("retention.execs", Zero::Allowed,
                           "How long results and output of execs are kept when their sandbox is gone, up to exec_logs "
                           "bytes in each project, which count to its disk quota; 0: not at all.",
                           FIELD(retention.execs)));
  table.push_back(duration("retention.operations", Zero::Allowed,
                           "How long operations that have ended are kept; 0: for ever.", FIELD(retention.operations)));
  table.push_back(duration("retention.usage", Zero::Allowed,
                           "How long it is kept what each exec has used; 0: for ever.", FIELD(retention.usage)));
}

void add_limits(std::vector<ConfigEntry>& table) {
  table.push_back(typed(single("runtime", "What builds the walls of sandboxes that do not say it.", FIELD(runtime),
                               check_runtime, [](const std::string& text) { return text; }),
                        "word", join(runtime_names(), ", ")));
  table.push_back(
      number("limits.cpus", Zero::Refused, "CPUs of a sandbox that names no number.", FIELD(limits.cpus.value)));
  table.push_back(size("limits.memory", Zero::Refused, "Memory of a sandbox.", FIELD(limits.memory.value)));
  table.push_back(size("limits.disk", Zero::Allowed, "Disk of a sandbox; 0: what suits the kind of its layer.",
                       FIELD(limits.disk.value)));
  table.push_back(count("limits.inodes", 0, kMany, "Files and folders that a sandbox may make; 0: as its disk allows.",
                        FIELD(limits.inodes.value)));
  table.push_back(
      count("limits.processes", 1, 4'194'304, "Processes and threads of a sandbox.", FIELD(limits.processes.value)));
  table.push_back(
      count("limits.open_files", 1, 1'048'576, "Open files of each process.", FIELD(limits.open_files.value)));
  table.push_back(size("limits.file_size", Zero::Allowed, "The largest file; 0: as the disk allows.",
                       FIELD(limits.file_size.value)));
  table.push_back(size("limits.io_read", Zero::Allowed, "Bytes per second read from disk; 0: no limit.",
                       FIELD(limits.io_read.value)));
  table.push_back(size("limits.io_write", Zero::Allowed, "Bytes per second written to disk; 0: no limit.",
                       FIELD(limits.io_write.value)));
  table.push_back(duration("limits.timeout", Zero::Allowed, "How long an exec may take; 0: no limit.",
                           FIELD(limits.timeout.value)));
  table.push_back(duration("limits.grace", Zero::Refused, "Time between SIGTERM and SIGKILL.", FIELD(limits.grace)));
  table.push_back(size("limits.output", Zero::Allowed, "Output after which an exec is killed; 0: no limit.",
                       FIELD(limits.output.value)));
  table.push_back(
      size("limits.retained", Zero::Refused, "How much of each stream a result holds.", FIELD(limits.retained)));
}

void add_maxima(std::vector<ConfigEntry>& table) {
  table.push_back(number("maxima.cpus", Zero::Allowed,
                         "The most CPUs that a caller with a key may name for a sandbox; 0: any number.",
                         FIELD(maxima.cpus)));
  table.push_back(size("maxima.memory", Zero::Allowed,
                       "The most memory that a caller with a key may name for a sandbox; 0: any.",
                       FIELD(maxima.memory)));
  table.push_back(size("maxima.disk", Zero::Allowed,
                       "The most disk that a caller with a key may name for a sandbox; 0: any.", FIELD(maxima.disk)));
  table.push_back(count("maxima.processes", 0, 4'194'304,
                        "The most processes and threads that a caller with a key may name for a sandbox; 0: any.",
                        FIELD(maxima.processes)));
}

void add_policies(std::vector<ConfigEntry>& table) {
  table.push_back(duration("lifecycle.idle", Zero::Allowed, "A sandbox expires after this long without use; 0: never.",
                           FIELD(lifecycle.idle)));
  table.push_back(
      duration("lifecycle.max", Zero::Allowed, "A sandbox expires after this long; 0: never.", FIELD(lifecycle.max)));
  table.push_back(
      typed(single(
                "lifecycle.on_expire", "What happens to a sandbox that expires.", FIELD(lifecycle.on_expire),
                [](const std::string& text) { return parse_on_expire(text); }, on_expire_name),
            "word", "stop, pause or delete"));
  table.push_back(on_off("lifecycle.auto_resume", "Whether a paused or stopped sandbox goes on when it is used.",
                         FIELD(lifecycle.auto_resume)));
  table.push_back(on_off("modes.allow_off",
                         "Whether local callers may ask for mode off: commands that run on this machine as they are.",
                         FIELD(modes.allow_off)));
  table.push_back(
      count("admission.sandboxes", 0, kMany, "The most sandboxes in all; 0: any number.", FIELD(admission.sandboxes)));
  table.push_back(size("admission.memory", Zero::Allowed,
                       "The most memory that running sandboxes may have together; 0: 80 % of the machine's.",
                       FIELD(admission.memory)));
  table.push_back(size("admission.disk", Zero::Allowed,
                       "The most disk that sandboxes may have together; 0: what there is.", FIELD(admission.disk)));
  table.push_back(
      count("pool.size", 0, 1000,
            "Sandboxes with default settings kept ready, to stay or for a single run, for any command or the first of "
            "pool.languages: in equal parts, or most of them for what was used within ten minutes; a "
            "quarter as many of each other kind asked for within ten minutes, four kinds at most. 0: none.",
            FIELD(pool.size)));
  table.push_back(
      typed(texts("pool.languages",
                  "Languages whose interpreters may wait in sandboxes that are kept ready; the first always does.",
                  FIELD(pool.languages), parse_name),
            "list of languages", "names of languages, like python"));
  table.push_back(
      typed(single("images.registry",
                   "The registry of images whose names have none, with a folder where names of one word lie in one.",
                   FIELD(images.registry), parse_registry, [](const std::string& text) { return text; }),
            "registry", "HOST[:PORT] or HOST[:PORT]/FOLDER"));
  table.push_back(typed(single("images.mirror", "A registry to fetch images of docker.io from, without a login.",
                               FIELD(images.mirror), parse_registry, [](const std::string& text) { return text; }),
                        "registry", "HOST[:PORT]"));
  table.push_back(typed(texts("images.insecure_registries",
                              "Registries, beside those on this machine, to which plain HTTP may be spoken.",
                              FIELD(images.insecure_registries), parse_registry),
                        "list of registries", "HOST[:PORT]"));
  table.push_back(
      typed(texts("images.private_registries",
                  "Registries on this machine or in a private network that callers with keys may pull from, "
                  "beside those that other settings name.",
                  FIELD(images.private_registries), parse_registry),
            "list of registries", "HOST[:PORT]"));
  table.push_back(
      size("images.max_size", Zero::Refused, "The largest layer of an image, unpacked.", FIELD(images.max_size)));
  table.push_back(count("images.max_entries", 1, kMany, "The most files of a layer.", FIELD(images.max_entries)));
  table.push_back(count("quotas.sandboxes", 0, kMany,
                        "The most sandboxes of a project that has no quota of its own; 0: any number.",
                        FIELD(quotas.sandboxes)));
  table.push_back(
      size("quotas.memory", Zero::Allowed, "The most memory of such a project; 0: no limit.", FIELD(quotas.memory)));
  table.push_back(
      size("quotas.disk", Zero::Allowed, "The most disk of such a project; 0: no limit.", FIELD(quotas.disk)));
}

std::vector<ConfigEntry> make_table() {
  std::vector<ConfigEntry> table;
  add_server(table);
  add_retention(table);
  add_limits(table);
  add_maxima(table);
  add_policies(table);
  return table;
}

}  // namespace

std::string ConfigEntry::section() const {
  size_t dot = name.find('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

std::string ConfigEntry::variable() const {
  std::string text = "COVE_" + name;
  std::replace(text.begin(), text.end(), '.', '_');
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string ConfigEntry::flag() const {
  std::string text = "--" + name;
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return text;
}

const std::vector<ConfigEntry>& config_table() {
  static const std::vector<ConfigEntry> table = make_table();
  return table;
}

}  // namespace cove
