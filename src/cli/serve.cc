#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "client/autostart.h"
#include "model/limit_fields.h"

namespace cove::cli {
namespace {

constexpr std::string_view kWhere = "Listening";
constexpr std::string_view kLimits = "Default limits of sandboxes";
constexpr std::string_view kLife = "Default lifetime of sandboxes";
constexpr std::string_view kRoom = "Totals (0: no limit, or what the machine has)";
constexpr std::string_view kOther = "Other";

// A flag for each setting but those of limits; the server checks the values.
constexpr OptionInfo kOptions[] = {
    {"listen", '\0', "ADDRESS", "unix:PATH or tcp:HOST:PORT; can be repeated\n(default: the per-user socket)", kWhere},
    {"tls-cert", '\0', "FILE", "certificate for TCP, in PEM", kWhere},
    {"tls-key", '\0', "FILE", "private key of the certificate", kWhere},
    {"allow-insecure", '\0', "yes|no", "allow TCP without TLS beyond this machine", kWhere},
    {"allowed-hosts", '\0', "NAMES", "accepted names in the Host header", kWhere},
    {"allowed-origins", '\0', "ORIGINS", "web origins that may call it", kWhere},
    {"workspace-roots", '\0', "PATHS", "folders that callers over TCP may use", kWhere},
    {"max-connections", '\0', "NUMBER", "simultaneous connections (default: 1024)", kWhere},
    {"max-body", '\0', "SIZE", "size of a JSON request body (default: 4m)", kWhere},
    {"lifecycle-idle", '\0', "TIME", "", kLife},
    {"lifecycle-max", '\0', "TIME", "", kLife},
    {"lifecycle-on-expire", '\0', "ACTION", "stop, pause or delete", kLife},
    {"lifecycle-auto-resume", '\0', "yes|no", "", kLife},
    {"admission-sandboxes", '\0', "NUMBER", "total sandboxes (default: 1000)", kRoom},
    {"admission-memory", '\0', "SIZE", "total memory (default: 80 % of the machine's)", kRoom},
    {"admission-disk", '\0', "SIZE", "total disk", kRoom},
    {"pool-size", '\0', "NUMBER", "sandboxes kept ready in the warm pool (default: 8)", kRoom},
    {"pool-languages", '\0', "NAMES", "languages whose interpreters are kept warm (default: python,javascript)", kRoom},
    {"quotas-sandboxes", '\0', "NUMBER", "sandboxes per project", kRoom},
    {"quotas-memory", '\0', "SIZE", "", kRoom},
    {"quotas-disk", '\0', "SIZE", "", kRoom},
    {"state", '\0', "FOLDER", "folder for all state", kOther},
    {"config", '\0', "FILE",
     "configuration file (default: /etc/cove/cove.toml for root,\notherwise ~/.config/cove/cove.toml)", kOther},
    {"modes-allow-off", '\0', "yes|no", "let local callers run commands without a sandbox (mode\noff; default: no)",
     kOther},
    {"set", '\0', "NAME=VALUE", "any setting", kOther},
    {"log-level", '\0', "LEVEL", "debug, info, warning or error", kOther},
    {"retention-events", '\0', "TIME", "how long events are kept (default: 30d)", kOther},
    {"retention-execs", '\0', "TIME", "how long results and output outlive their sandbox (default:\n24h)", kOther},
    {"retention-operations", '\0', "TIME", "how long ended operations are kept (default: 7d)", kOther},
    {"retention-usage", '\0', "TIME", "how long it is kept what execs used (default: 30d)", kOther},
    {"exec-retention", '\0', "NUMBER", "ended execs kept per sandbox (default: 1000)", kOther},
    {"exec-logs", '\0', "SIZE", "output kept per sandbox (default: 256m)", kOther},
    {"auto", '\0', "", "exit automatically when idle", kOther},
    {"idle-exit", '\0', "TIME", "idle time before the exit with --auto (default: 10m)", kOther},
    {"help", 'h', "", "print this help", kOther},
};

constexpr Form kForm = {
    .verb = "serve",
    .usage = "[OPTIONS]",
    .text =
        "Runs the server in the foreground. cove config show prints its settings and where they come from; flags\n"
        "override variables (COVE_…), and these override the file. Without this, the first command that needs a\n"
        "server starts one.",
    .more =
        "Examples:\n"
        "  cove serve --listen tcp:127.0.0.1:7070 --listen unix:/run/cove/api.sock\n"
        "  cove serve --admission-memory 16g --lifecycle-idle 1h",
};

std::string_view argument_of(const LimitField& field) {
  return field.kind == LimitKind::Duration                ? "TIME"
         : field.number || field.kind == LimitKind::Count ? "NUMBER"
                                                          : "SIZE";
}

// "limits-open-files"
std::string flag_of(std::string_view section, const LimitField& field) {
  std::string flag = concat(section, "-", field.name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::vector<OptionInfo> infos() {
  static std::deque<std::string> names;
  static const std::vector<OptionInfo> all = [] {
    std::vector<OptionInfo> limits;
    for (const LimitField& field : kLimitFields)
      limits.push_back({names.emplace_back(flag_of("limits", field)), '\0', argument_of(field), "", kLimits});
    for (const LimitField& field : kLimitFields)
      if (!field.capped.empty())
        limits.push_back({names.emplace_back(flag_of("maxima", field)), '\0', argument_of(field),
                          "highest value that a caller with a key may set", kLimits});
    std::vector<OptionInfo> options(std::begin(kOptions), std::end(kOptions));
    options.insert(std::ranges::find(options, kLife, &OptionInfo::group), limits.begin(), limits.end());
    return options;
  }();
  return all;
}

// The arguments for cove-spawn: settings by name, the rest unchanged.
std::vector<std::string> server_words(const std::string& program, const ParsedOptions& parsed) {
  std::vector<std::string> words = {program, "serve"};
  for (const GivenOption& option : parsed.given) {
    std::string name(infos()[option.index].name);
    if (name == "auto")
      words.push_back("--auto");
    else if (name == "config" || name == "set")
      words.insert(words.end(), {"--" + name, option.value});
    else
      words.insert(words.end(), {"--set", concat(name, "=", option.value)});
  }
  return words;
}

std::unexpected<Error> execute(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  return fail_errno(concat("execute ", words[0]));
}

int serve(const Arguments& args) {
  auto parsed = parse_options(infos(), args, Operands::Anywhere);
  if (!parsed) return complain(parsed.error());
  for (const GivenOption& option : parsed->given)
    if (infos()[option.index].name == "help") return print(form_help(kForm, infos())) ? 0 : kOwnFailure;
  if (auto checked = check_operands(kForm, parsed->rest); !checked) return complain(checked.error());
  auto program = client::program_beside("cove-spawn");
  if (!program) return complain(program.error());
  return complain(execute(server_words(*program, *parsed)).error());
}

}  // namespace

Verb serve_verb() {
  return {"serve", "run the server", serve, [] { return form_help(kForm, infos()); }, infos};
}

}  // namespace cove::cli
