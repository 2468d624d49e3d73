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
#include "model/language.h"
#include "model/limits.h"
#include "model/runtime_kind.h"

// The server's configuration: a TOML file, on top of it variables COVE_…, on top of those flags. One table (in
// config.cc) describes every setting; the three sources, `cove config show` and the documentation all come from it.
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
// A TCP address that is not the loopback's; a name other than localhost counts as one.
bool reaches_beyond_machine(const ListenAddress& address);

enum class OnExpire { Stop, Pause, Delete };
const char* on_expire_name(OnExpire action);  // "stop", "pause", "delete"
Result<OnExpire> parse_on_expire(std::string_view text);

enum class LogLevel { Debug, Info, Warning, Error };
const char* log_level_name(LogLevel level);  // "debug", "info", "warning", "error"

struct Config {
  std::vector<ListenAddress> listen;
  std::string state;          // the state folder, absolute
  std::string server_folder;  // coved's own folder in it, as coved reaches it; no setting
  std::string tls_cert;
  std::string tls_key;
  bool allow_insecure = false;
  std::vector<std::string> allowed_hosts;
  std::vector<std::string> allowed_origins;
  std::vector<std::string> workspace_roots;  // absolute
  uint64_t max_connections = 1024;
  uint64_t max_body = 4 * kMiB;
  std::chrono::milliseconds idle_exit = std::chrono::minutes(10);  // of a server that was started by itself; 0: never
  LogLevel log_level = LogLevel::Info;
  uint64_t exec_retention = 1000;   // ended execs kept of each sandbox
  uint64_t exec_logs = 256 * kMiB;  // output of its execs kept of each sandbox

  // How long records are kept; 0: for ever, but for execs.
  struct Retention {
    std::chrono::milliseconds events = std::chrono::days(30);
    std::chrono::milliseconds execs = std::chrono::hours(24);  // of sandboxes that are gone; 0: not at all
    std::chrono::milliseconds operations = std::chrono::days(7);
    std::chrono::milliseconds usage = std::chrono::days(30);
  } retention;

  std::string runtime = kNativeRuntime;  // of sandboxes that name none
  Limits limits;                         // of sandboxes that name none; none of them counts as named

  // The highest limits that callers with keys may name for a sandbox; 0: none.
  struct Maxima {
    double cpus = 0;
    uint64_t memory = 0;
    uint64_t disk = 0;
    uint64_t processes = 0;
  } maxima;

  struct Lifecycle {
    std::chrono::milliseconds idle{0};  // 0: none
    std::chrono::milliseconds max{0};   // 0: none
    OnExpire on_expire = OnExpire::Stop;
    bool auto_resume = false;
  } lifecycle;

  // What may run outside of sandboxes.
  struct Modes {
    bool allow_off = false;
  } modes;

  // Of the whole server; 0 means as said.
  struct Admission {
    uint64_t sandboxes = 1000;  // 0: any number
    uint64_t memory = 0;        // bytes; 0: 80 % of the machine's
    uint64_t disk = 0;          // bytes; 0: what there is
  } admission;

  // Sandboxes kept ready.
  struct Pool {
    uint64_t size = 8;                                              // of the default class; 0: none
    std::vector<std::string> languages = {"python", "javascript"};  // whose interpreters may wait in them
  } pool;

  struct Images {
    std::string registry = "docker.io";            // HOST[:PORT][/FOLDER]; empty: none
    std::string mirror;                            // of docker.io: HOST[:PORT]; empty: none
    std::vector<std::string> insecure_registries;  // HOST[:PORT]
    std::vector<std::string> private_registries;   // HOST[:PORT]
    uint64_t max_size = 32 * kGiB;
    uint64_t max_entries = 2'000'000;
  } images;

  LanguageTable languages = builtin_languages();

  // Of each project that has none of its own; 0: none.
  struct Quotas {
    uint64_t sandboxes = 0;
    uint64_t memory = 0;
    uint64_t disk = 0;
  } quotas;

  // Where each setting that is not at its default comes from: "/etc/cove/cove.toml:7", "COVE_STATE", "--state".
  std::map<std::string, std::string> sources;
  std::map<std::string, std::string> defaults;  // of every setting, for this user on this machine
  std::string file;                             // the file that was read; empty where there was none
};

struct ConfigSources {
  // NotFound where it is named and missing; empty: $COVE_CONFIG, else default_config_file(), which may be missing
  std::string file;
  // The value of an environment variable; empty function: this process's.
  std::function<std::optional<std::string>(const std::string&)> env;
  // Name and value: names as in the table or as flags are written ("max_body", "max-body", "limits.open_files",
  // "limits-open-files"). A list may be given several times, and with commas.
  std::vector<std::pair<std::string, std::string>> flags;
  uid_t uid = static_cast<uid_t>(-1);  // whose defaults; -1: this process's
};

// Invalid where a key is unknown or a value is not acceptable: the message says which, and where (FILE:LINE, the
// variable, the flag); the hint says what would be accepted, or the nearest name. Invalid also where one of tls_cert
// and tls_key is missing, and where a TCP address beyond this machine has neither TLS nor allow_insecure.
Result<Config> load_config(const ConfigSources& sources);

// "/etc/cove/cove.toml" for root, else $XDG_CONFIG_HOME/cove/cove.toml or the one below ~/.config; empty without a
// home.
std::string default_config_file(const ConfigSources& sources);

// A setting as people and programs are shown it.
struct Setting {
  std::string name;           // "admission.sandboxes"
  std::string value;          // as one would write it
  std::string source;         // "default", or as in Config::sources
  std::string default_value;  // for this user on this machine
  std::string description;
  std::string type;      // "size", "duration", "list of addresses"
  std::string variable;  // "COVE_ADMISSION_SANDBOXES"
  std::string flag;      // "--admission-sandboxes"
};
// All of them, in the table's order.
std::vector<Setting> settings(const Config& config);

// The reference of all settings, in Markdown.
std::string describe_settings();

}  // namespace cove
