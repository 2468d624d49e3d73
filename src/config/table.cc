#include "config/table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "model/limit_fields.h"
#include "net/rule.h"

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

// In the largest unit that gives a whole number.
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
  return fail(Code::Invalid, concat("'", text, "' is not true or false"));
}

Result<std::string> parse_path(const std::string& text) {
  if (text.starts_with('/') && text.find('\0') == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not an absolute path"));
}

Result<std::string> parse_host(const std::string& text) {
  if (!text.empty() && text.find_first_of("/ \t\n") == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not a valid host name"));
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

// Whether the language exists is checked after the whole file is read.
Result<std::string> parse_name(const std::string& text) {
  if (!text.empty() && text.find_first_of(" \t\n") == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not a valid language name"));
}

Result<NetworkTier> parse_network_tier(const std::string& text) {
  if (std::optional<NetworkTier> tier = parse_tier(text)) return *tier;
  return fail(Code::Invalid, concat("'", text, "' is not a network tier"));
}

Result<std::string> parse_network_rule(const std::string& text) {
  COVE_TRY(net::parse_rule(text));
  return text;
}

Result<std::string> parse_resolver(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("0123456789abcdefABCDEF.:[]%") == std::string::npos) return text;
  return fail(Code::Invalid, concat("'", text, "' is not an address"));
}

Result<std::string> parse_webhook(const std::string& text) {
  const bool url = text.starts_with("http://") || text.starts_with("https://");
  if (text.empty() || (url && text.find_first_of(" \t\n") == std::string::npos)) return text;
  return fail(Code::Invalid, concat("'", text, "' is not a URL"));
}

Result<LogLevel> parse_log_level(const std::string& text) {
  for (LogLevel level : {LogLevel::Debug, LogLevel::Info, LogLevel::Warning, LogLevel::Error})
    if (text == log_level_name(level)) return level;
  return fail(Code::Invalid, concat("'", text, "' is not a log level"));
}

// --- types of settings: `field` is the member of Config that holds the value
// ------------------------------------------
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

// A limit of those that `limits` gives; `field` is a row of the table.
template <typename LimitsOf>
ConfigEntry limit(std::string name, Zero zero, std::string description, const LimitField& field, LimitsOf limits) {
  auto number_of = [limits, &field](auto& config) -> auto& { return (limits(config).*field.number).value; };
  auto count_of = [limits, &field](auto& config) -> auto& { return (limits(config).*field.count).value; };
  auto time_of = [limits, &field](auto& config) -> auto& { return (limits(config).*field.time).value; };
  switch (field.kind) {
    case LimitKind::Number:
      return number(std::move(name), zero, std::move(description), number_of);
    case LimitKind::Count:
      return count(std::move(name), zero == Zero::Allowed ? 0 : 1,
                   field.highest > 0 ? static_cast<int64_t>(field.highest) : kMany, std::move(description), count_of);
    case LimitKind::Duration:
      return duration(std::move(name), zero, std::move(description), time_of);
    case LimitKind::Bytes:
    case LimitKind::BytesPerSecond:
      break;
  }
  return size(std::move(name), zero, std::move(description), count_of);
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
  table.push_back(path("state", "The folder for all persistent state.", FIELD(state)));
  table.back().default_words = "`/var/lib/cove` for root, else `$XDG_STATE_HOME/cove` or `~/.local/state/cove`";
  table.push_back(path("tls_cert", "The certificate (PEM) for TCP addresses; with tls_key.", FIELD(tls_cert)));
  table.push_back(path("tls_key", "The private key (PEM) of tls_cert.", FIELD(tls_key)));
  table.push_back(
      on_off("allow_insecure", "Listen on TCP addresses beyond this machine without TLS.", FIELD(allow_insecure)));
  table.push_back(typed(
      texts("allowed_hosts", "Names, besides localhost, that are accepted in the Host header of requests over TCP.",
            FIELD(allowed_hosts), parse_host),
      "list of names", "host names, like cove.example.org"));
  table.push_back(typed(texts("allowed_origins", "Web origins that may use the API from a browser.",
                              FIELD(allowed_origins), parse_origin),
                        "list of origins", "origins, like https://cove.example.org"));
  table.push_back(typed(texts("workspace_roots", "Folders below which requests over TCP may use workspaces.",
                              FIELD(workspace_roots), parse_path),
                        "list of paths", "absolute paths"));
  table.push_back(count("max_connections", 1, 1'000'000,
                        "The maximum number of simultaneous connections, for the Unix socket and for each TCP address.",
                        FIELD(max_connections)));
  table.push_back(size("max_body", Zero::Refused, "The maximum size of a JSON request body.", FIELD(max_body)));
  table.push_back(duration("idle_exit", Zero::Allowed,
                           "An automatically started server exits after this long without use; 0: never.",
                           FIELD(idle_exit)));
  table.push_back(typed(single("log_level", "The lowest level of messages that are logged.", FIELD(log_level),
                               parse_log_level, log_level_name),
                        "word", "debug, info, warning or error"));
  table.push_back(count("exec_retention", 1, kMany, "How many ended execs are kept per sandbox, with their output.",
                        FIELD(exec_retention)));
  table.push_back(
      size("exec_logs", Zero::Refused,
           "How much output and results of execs are kept per sandbox; those of ended execs are dropped first, "
           "starting with the oldest. They count towards the disk quota of the project.",
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
  table.push_back(typed(single("runtime", "The isolation backend of sandboxes that do not name one.", FIELD(runtime),
                               check_runtime, [](const std::string& text) { return text; }),
                        "word", join(runtime_names(), ", ")));
  for (const LimitField& field : kLimitFields) {
    const bool zero = field.zero != LimitZero::UnlimitedForLocal && field.zero != LimitZero::Refused;
    table.push_back(limit(concat("limits.", field.name), zero ? Zero::Allowed : Zero::Refused,
                          std::string(field.setting), field, FIELD(limits)));
  }
}

void add_maxima(std::vector<ConfigEntry>& table) {
  for (const LimitField& field : kLimitFields)
    if (!field.capped.empty())
      table.push_back(
          limit(concat("maxima.", field.name), Zero::Allowed,
                concat("The most ", field.capped, " that a caller with a key may name for a sandbox; 0: any."), field,
                FIELD(maxima.most)));
}

ConfigEntry tier(std::string name, std::string description, auto field) {
  return typed(single(std::move(name), std::move(description), field, parse_network_tier,
                      [](NetworkTier value) { return std::string(tier_name(value)); }),
               "word", join(tier_names(), ", "));
}

void add_network(std::vector<ConfigEntry>& table) {
  table.push_back(tier("network.tier",
                       "The highest network tier that a caller without the scope 'approve' may ask for.",
                       FIELD(network.tier)));
  table.push_back(tier("network.max_tier", "The highest network tier that any sandbox has.", FIELD(network.max_tier)));
  table.push_back(typed(texts("network.allow", "What sandboxes may reach at most; empty: no limit.",
                              FIELD(network.allow), parse_network_rule),
                        "list of rules", "rules, like pypi.org, *.example.org, host:8443, 10.1.0.0/16 or @python"));
  table.push_back(typed(texts("network.block", "What no sandbox may reach.", FIELD(network.block), parse_network_rule),
                        "list of rules", "rules, like pypi.org, *.example.org, host:8443, 10.1.0.0/16 or @python"));
  table.push_back(size("network.budget_bytes", Zero::Allowed,
                       "The maximum number of bytes that a sandbox sends and receives; 0: no limit.",
                       FIELD(network.budget.bytes)));
  table.push_back(count("network.budget_connections", 0, kMany,
                        "The maximum number of connections that a sandbox makes; 0: no limit.",
                        FIELD(network.budget.connections)));
  table.push_back(typed(texts("network.resolvers",
                              "DNS servers for the names that sandboxes may reach; empty: those of "
                              "this machine.",
                              FIELD(network.resolvers), parse_resolver),
                        "list of addresses", "ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT"));
  table.push_back(path("network.upstream_ca",
                       "A file of certificates (PEM) of authorities that are trusted, besides this "
                       "machine's, for servers to which brokered secrets are sent.",
                       FIELD(network.upstream_ca)));
  table.push_back(on_off("network.learn",
                         "Whether callers without the scope 'approve' may let a sandbox reach what no "
                         "list names, to learn which rules it needs.",
                         FIELD(network.learn)));
  table.push_back(typed(single("network.webhook", "A URL that is sent each network request that awaits a decision.",
                               FIELD(network.webhook), parse_webhook, [](const std::string& text) { return text; }),
                        "URL", "http://… or https://…"));
}

Result<ListenAddress> parse_preview_address(const std::string& text) {
  ListenAddress address = COVE_TRY(parse_listen(text));
  if (address.kind == ListenAddress::Kind::Tcp) return address;
  return fail(Code::Invalid, concat("'", text, "' is not a TCP address, and browsers know no others"));
}

ConfigEntry preview_listen() {
  ConfigEntry entry = several(
      "preview.listen",
      "Where previews are served: tcp:HOST:PORT, with port 0 for a free one, the last one if possible; or none. Unless "
      "it is set, only used if no TCP address is in listen: each of these serves previews, too.",
      FIELD(preview.listen), parse_preview_address, [](const ListenAddress& address) { return to_text(address); });
  auto set = entry.set;
  entry.set = [set](Config& config, const Values& values) {
    return set(config, values == Values{"none"} ? Values() : values);
  };
  auto get = entry.get;
  entry.get = [get](const Config& config) { return config.preview.listen.empty() ? "none" : get(config); };
  return typed(std::move(entry), "list of addresses", "tcp:HOST:PORT or several of them, or none");
}

void add_preview(std::vector<ConfigEntry>& table) {
  table.push_back(preview_listen());
  table.push_back(
      typed(single("preview.domain",
                   "Previews are at PORT-SANDBOX.DOMAIN. With a scheme and port, as in "
                   "https://preview.example.org, these are in their URLs: for a proxy in front of Cove.",
                   FIELD(preview.site), parse_preview_site, [](const PreviewSite& site) { return to_text(site); }),
            "domain", "DOMAIN or SCHEME://DOMAIN[:PORT]"));
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
  table.push_back(on_off("lifecycle.auto_resume", "Whether a paused or stopped sandbox is resumed when it is used.",
                         FIELD(lifecycle.auto_resume)));
  table.push_back(on_off("modes.allow_off",
                         "Whether local callers may use mode off: commands run on this machine without a sandbox.",
                         FIELD(modes.allow_off)));
  table.push_back(count("admission.sandboxes", 0, kMany, "The maximum number of sandboxes; 0: no limit.",
                        FIELD(admission.sandboxes)));
  table.push_back(size("admission.memory", Zero::Allowed,
                       "The maximum total memory of running sandboxes; 0: 80 % of the machine's.",
                       FIELD(admission.memory)));
  table.push_back(size("admission.disk", Zero::Allowed, "The maximum total disk of sandboxes; 0: the whole disk.",
                       FIELD(admission.disk)));
  table.push_back(count(
      "pool.size", 0, 1000,
      "Sandboxes with default settings kept ready, long-lived or for a single run, for any command or the first of "
      "pool.languages: in equal parts, or most of them for what was used within ten minutes; a "
      "quarter as many of each other kind requested within ten minutes, four kinds at most. 0: none.",
      FIELD(pool.size)));
  table.push_back(typed(
      texts("pool.languages", "Languages whose interpreters may be kept warm in pooled sandboxes; the first always is.",
            FIELD(pool.languages), parse_name),
      "list of languages", "names of languages, like python"));
  add_network(table);
  table.push_back(
      typed(single("images.registry",
                   "The registry of image names without one, optionally with a folder for names of a single word.",
                   FIELD(images.registry), parse_registry, [](const std::string& text) { return text; }),
            "registry", "HOST[:PORT] or HOST[:PORT]/FOLDER"));
  table.push_back(typed(single("images.mirror", "A registry to pull images of docker.io from, without credentials.",
                               FIELD(images.mirror), parse_registry, [](const std::string& text) { return text; }),
                        "registry", "HOST[:PORT]"));
  table.push_back(typed(texts("images.insecure_registries",
                              "Registries, besides those on this machine, that may be accessed over plain HTTP.",
                              FIELD(images.insecure_registries), parse_registry),
                        "list of registries", "HOST[:PORT]"));
  table.push_back(
      typed(texts("images.private_registries",
                  "Registries on this machine or in a private network that callers with keys may pull from, "
                  "besides those in other settings.",
                  FIELD(images.private_registries), parse_registry),
            "list of registries", "HOST[:PORT]"));
  table.push_back(
      size("images.max_size", Zero::Refused, "The maximum unpacked size of an image layer.", FIELD(images.max_size)));
  table.push_back(
      count("images.max_entries", 1, kMany, "The maximum number of files in a layer.", FIELD(images.max_entries)));
  add_preview(table);
  table.push_back(count("quotas.sandboxes", 0, kMany,
                        "The maximum number of sandboxes of a project without its own quota; 0: no limit.",
                        FIELD(quotas.sandboxes)));
  table.push_back(
      size("quotas.memory", Zero::Allowed, "The maximum memory of such a project; 0: no limit.", FIELD(quotas.memory)));
  table.push_back(
      size("quotas.disk", Zero::Allowed, "The maximum disk of such a project; 0: no limit.", FIELD(quotas.disk)));
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
