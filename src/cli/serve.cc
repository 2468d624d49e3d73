#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "client/autostart.h"

namespace cove::cli {
namespace {

constexpr std::string_view kWhere = "Where it listens";
constexpr std::string_view kLimits = "Limits of sandboxes that name none";
constexpr std::string_view kLife = "Life of sandboxes that name none";
constexpr std::string_view kRoom = "How much in all (0: no limit, or what the machine has)";
constexpr std::string_view kOther = "Other";

// A flag for each setting; the server checks the values.
constexpr OptionInfo kOptions[] = {
    {"listen", '\0', "ADDRESS", "unix:PATH or tcp:HOST:PORT; can be repeated\n(default: the per-user socket)", kWhere},
    {"tls-cert", '\0', "FILE", "a certificate for TCP, in PEM", kWhere},
    {"tls-key", '\0', "FILE", "its key", kWhere},
    {"allow-insecure", '\0', "yes|no", "TCP beyond this machine without TLS", kWhere},
    {"allowed-hosts", '\0', "NAMES", "names under which it may be called", kWhere},
    {"allowed-origins", '\0', "ORIGINS", "web pages that may call it", kWhere},
    {"workspace-roots", '\0', "PATHS", "folders that callers over TCP may name", kWhere},
    {"max-connections", '\0', "NUMBER", "at a time (default: 1024)", kWhere},
    {"max-body", '\0', "SIZE", "of a request in JSON (default: 4m)", kWhere},
    {"limits-cpus", '\0', "NUMBER", "", kLimits},
    {"limits-memory", '\0', "SIZE", "", kLimits},
    {"limits-disk", '\0', "SIZE", "", kLimits},
    {"limits-processes", '\0', "NUMBER", "", kLimits},
    {"limits-open-files", '\0', "NUMBER", "", kLimits},
    {"limits-file-size", '\0', "SIZE", "", kLimits},
    {"limits-timeout", '\0', "TIME", "", kLimits},
    {"limits-output", '\0', "SIZE", "", kLimits},
    {"maxima-cpus", '\0', "NUMBER", "the most that a caller with a key may name", kLimits},
    {"maxima-memory", '\0', "SIZE", "", kLimits},
    {"maxima-disk", '\0', "SIZE", "", kLimits},
    {"maxima-processes", '\0', "NUMBER", "", kLimits},
    {"lifecycle-idle", '\0', "TIME", "", kLife},
    {"lifecycle-max", '\0', "TIME", "", kLife},
    {"lifecycle-on-expire", '\0', "ACTION", "stop, pause or delete", kLife},
    {"lifecycle-auto-resume", '\0', "yes|no", "", kLife},
    {"admission-sandboxes", '\0', "NUMBER", "sandboxes in all (default: 1000)", kRoom},
    {"admission-memory", '\0', "SIZE", "memory of all (default: 80 % of the machine's)", kRoom},
    {"admission-disk", '\0', "SIZE", "disk of all", kRoom},
    {"pool-size", '\0', "NUMBER", "sandboxes kept ready before they are asked for (default: 8)", kRoom},
    {"pool-languages", '\0', "NAMES", "whose interpreters may wait in them (default: python,javascript)", kRoom},
    {"quotas-sandboxes", '\0', "NUMBER", "of a project", kRoom},
    {"quotas-memory", '\0', "SIZE", "", kRoom},
    {"quotas-disk", '\0', "SIZE", "", kRoom},
    {"state", '\0', "FOLDER", "where everything is kept", kOther},
    {"config", '\0', "FILE",
     "the configuration (default: /etc/cove/cove.toml for root,\nelse ~/.config/cove/cove.toml)", kOther},
    {"modes-allow-off", '\0', "yes|no", "let local callers run commands without a sandbox (mode\noff; default: no)",
     kOther},
    {"set", '\0', "NAME=VALUE", "any setting", kOther},
    {"log-level", '\0', "LEVEL", "debug, info, warning or error", kOther},
    {"retention-events", '\0', "TIME", "how long events are kept (default: 30d)", kOther},
    {"retention-execs", '\0', "TIME", "how long results and output outlive their sandbox (default:\n24h)", kOther},
    {"retention-operations", '\0', "TIME", "how long ended operations are kept (default: 7d)", kOther},
    {"retention-usage", '\0', "TIME", "how long it is kept what execs used (default: 30d)", kOther},
    {"exec-retention", '\0', "NUMBER", "ended execs kept of each sandbox (default: 1000)", kOther},
    {"exec-logs", '\0', "SIZE", "output kept of each sandbox (default: 256m)", kOther},
    {"auto", '\0', "", "end by itself when there is nothing to keep", kOther},
    {"idle-exit", '\0', "TIME", "after how long, with --auto (default: 10m)", kOther},
    {"help", 'h', "", "print this help", kOther},
};

constexpr Form kForm = {
    .verb = "serve",
    .usage = "[OPTIONS]",
    .text =
        "Runs the server in the foreground. cove config show tells its settings and where they come from; flags go "
        "before\n"
        "variables (COVE_…), and those before the file. Without this, the first command that needs a server starts "
        "one.",
    .more =
        "Examples:\n"
        "  cove serve --listen tcp:127.0.0.1:7070 --listen unix:/run/cove/api.sock\n"
        "  cove serve --admission-memory 16g --lifecycle-idle 1h",
};

std::vector<OptionInfo> infos() { return {std::begin(kOptions), std::end(kOptions)}; }

// The words for cove-spawn: settings by name, the rest as it is.
std::vector<std::string> server_words(const std::string& program, const ParsedOptions& parsed) {
  std::vector<std::string> words = {program, "serve"};
  for (const GivenOption& option : parsed.given) {
    std::string name(kOptions[option.index].name);
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
    if (kOptions[option.index].name == "help") return print(form_help(kForm, infos())) ? 0 : kOwnFailure;
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
