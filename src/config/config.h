#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "config/preview_site.h"
#include "model/language.h"
#include "model/limits.h"
#include "model/maxima.h"
#include "model/network.h"
#include "model/runtime_kind.h"

// The server's configuration: a TOML file, overridden by COVE_… variables, overridden by flags. One table (in
// table.cc) describes every setting; the three sources, `cove config show` and the documentation are derived from it.
namespace cove {

struct ListenAddress {
  enum class Kind { Unix, Tcp };
  Kind kind = Kind::Unix;
  std::string path;  // Unix: absolute
  std::string host;  // TCP: a name or an address, IPv6 without its brackets
  uint16_t port = 0;

  bool operator==(const ListenAddress&) const = default;
};
// "unix:/run/cove/api.sock", "tcp:127.0.0.1:7070", "tcp:[::1]:7070"; Invalid.
Result<ListenAddress> parse_listen(std::string_view text);
std::string to_text(const ListenAddress& address);
// Whether it is a TCP address beyond loopback; names other than localhost count as such.
bool reaches_beyond_machine(const ListenAddress& address);

enum class OnExpire { Stop, Pause, Delete };
const char* on_expire_name(OnExpire action);  // "stop", "pause", "delete"
Result<OnExpire> parse_on_expire(std::string_view text);

enum class LogLevel { Debug, Info, Warning, Error };
const char* log_level_name(LogLevel level);  // "debug", "info", "warning", "error"

struct Config {
  std::vector<ListenAddress> listen;
  std::string state;          // the state folder, absolute
  std::string server_folder;  // coved's own folder in it, as coved accesses it; not a setting
  std::string tls_cert;
  std::string tls_key;
  bool allow_insecure = false;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::vector<std::string> workspace_roots;  // absolute
  uint64_t max_connections = 1024;
  uint64_t max_body = 4 * kMiB;
  std::chrono::milliseconds idle_exit = std::chrono::minutes(10);  // of an automatically started server; 0: never
  LogLevel log_level = LogLevel::Info;
  uint64_t exec_retention = 1000;   // ended execs kept per sandbox
  uint64_t exec_logs = 256 * kMiB;  // output of execs kept per sandbox

  // How long records are kept; 0: for ever, but for execs.
  struct Retention {
    std::chrono::milliseconds events = std::chrono::days(30);
    std::chrono::milliseconds execs = std::chrono::hours(24);  // of sandboxes that are gone; 0: not at all
    std::chrono::milliseconds operations = std::chrono::days(7);
    std::chrono::milliseconds usage = std::chrono::days(30);
  } retention;

  std::string runtime = kNativeRuntime;  // default of sandboxes
  Limits limits;                         // defaults of sandboxes; none of them counts as named

  Maxima maxima;  // what callers with keys may name for a sandbox at most

  struct Lifecycle {
    std::chrono::milliseconds idle{0};  // 0: none
    std::chrono::milliseconds max{0};   // 0: none
    OnExpire on_expire = OnExpire::Stop;
    bool auto_resume = false;
  } lifecycle;

  // Whether commands may run outside sandboxes.
  struct Modes {
    bool allow_off = false;
  } modes;

  // For the whole server; see below for 0.
  struct Admission {
    uint64_t sandboxes = 1000;  // 0: no limit
    uint64_t memory = 0;        // bytes; 0: 80 % of the machine's
    uint64_t disk = 0;          // bytes; 0: the whole disk
  } admission;

  // The pool of sandboxes that are kept ready.
  struct Pool {
    uint64_t size = 8;                                              // of the default class; 0: no pool
    std::vector<std::string> languages = {"python", "javascript"};  // languages whose interpreters are kept warm
  } pool;

  // The server's own policy: a bound of every sandbox's.
  struct Network {
    NetworkTier tier = NetworkTier::Standard;          // the highest that a caller without `approve` may ask for
    NetworkTier max_tier = NetworkTier::Unrestricted;  // the highest there is
    std::vector<std::string> allow;                    // empty: any
    std::vector<std::string> block;
    NetworkBudget budget;                // 0: none
    std::vector<std::string> resolvers;  // ADDRESS[:PORT]; empty: the machine's
    std::string upstream_ca;             // a file of certificates that are trusted besides the machine's
    bool learn = false;                  // whether callers without `approve` may let a sandbox learn
    std::string webhook;                 // that network requests are sent to; empty: none
  } network;

  struct Images {
    std::string registry = "docker.io";            // HOST[:PORT][/FOLDER]; empty: none
    std::string mirror;                            // mirror of docker.io: HOST[:PORT]; empty: none
    std::vector<std::string> insecure_registries;  // HOST[:PORT]
    std::vector<std::string> private_registries;   // HOST[:PORT]
    uint64_t max_size = 32 * kGiB;
    uint64_t max_entries = 2'000'000;
  } images;

  struct Preview {
    // Used where `listen` has no TCP address, or if it is set; empty: never.
    std::vector<ListenAddress> listen = {{ListenAddress::Kind::Tcp, "", "127.0.0.1", 0}};
    PreviewSite site;  // its port is not known before the server listens, unless it is named
  } preview;

  LanguageTable languages = builtin_languages();

  // For each project without its own quotas; 0: no limit.
  struct Quotas {
    uint64_t sandboxes = 0;
    uint64_t memory = 0;
    uint64_t disk = 0;
  } quotas;

  // The source of each setting that is not at its default: "/etc/cove/cove.toml:7", "COVE_STATE", "--state".
  std::map<std::string, std::string> sources;
  std::map<std::string, std::string> defaults;  // of every setting, for this user on this machine
  std::string file;                             // the file that was read; empty if there was none
};

struct ConfigSources {
  // NotFound if it is named and missing; empty: $COVE_CONFIG, or default_config_file(), which may be missing
  std::string file;
  // Looks up an environment variable; empty function: this process's environment.
  std::function<std::optional<std::string>(const std::string&)> env;
  // Name and value: names as in the table or as flags ("max_body", "max-body", "limits.open_files",
  // "limits-open-files"). A list may be given several times, and with commas.
  std::vector<std::pair<std::string, std::string>> flags;
  uid_t uid = static_cast<uid_t>(-1);  // the user whose defaults apply; -1: this process's
};

// Invalid if a key is unknown or a value is not acceptable: the message says which, and where (FILE:LINE, the variable,
// the flag); the hint says what is accepted, or the nearest name. Also Invalid if one of tls_cert and tls_key is
// missing, or if a TCP address beyond this machine has neither TLS nor allow_insecure.
Result<Config> load_config(const ConfigSources& sources);

// "/etc/cove/cove.toml" for root, otherwise $XDG_CONFIG_HOME/cove/cove.toml or the one below ~/.config; empty without a
// home.
std::string default_config_file(const ConfigSources& sources);

// A setting as shown to people and programs.
struct Setting {
  std::string name;           // "admission.sandboxes"
  std::string value;          // in the form in which it is written
  std::string source;         // "default", or as in Config::sources
  std::string default_value;  // for this user on this machine
  std::string description;
  std::string type;      // "size", "duration", "list of addresses"
  std::string variable;  // "COVE_ADMISSION_SANDBOXES"
  std::string flag;      // "--admission-sandboxes"
};
// All settings, in the table's order.
std::vector<Setting> settings(const Config& config);

// The reference of all settings, in Markdown.
std::string describe_settings();

}  // namespace cove
