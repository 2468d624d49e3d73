#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "base/encoding.h"
#include "base/text.h"
#include "cli/denials.h"
#include "cli/exec_result.h"
#include "cli/exit_code.h"
#include "cli/run_order.h"
#include "cli/run_remote.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "cli/warn_once.h"
#include "client/server.h"
#include "config/config.h"
#include "model/figures.h"
#include "model/json.h"
#include "run/maxima.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr size_t kMaxCode = 64 * kMiB;

void take_window_size(WindowSize& size) {
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    struct winsize window;
    if (::ioctl(fd, TIOCGWINSZ, &window) < 0 || window.ws_row == 0 || window.ws_col == 0) continue;
    size = {window.ws_row, window.ws_col};
    return;
  }
}

// From the configuration that this user's server would read.
Result<RunLanguages> own_languages() {
  Config config = COVE_TRY(load_config({}));
  return RunLanguages{std::move(config.languages), config.images.registry};
}

// Adds what the words do not contain: the code on standard input, the size of the terminal.
Result<void> complete(RunOrder& order) {
  if (order.request.exec.pty) take_window_size(*order.request.exec.pty);
  if (!order.code_from_stdin) return {};
  std::string code = COVE_TRY_NOTE("read the code on standard input", sys::read_all(STDIN_FILENO, kMaxCode + 1));
  if (code.size() > kMaxCode) return fail(Code::Invalid, concat("the code is larger than ", format_bytes(kMaxCode)));
  RunCode& wanted = *order.request.code;
  const bool common = parse_language(builtin_languages(), wanted.language).has_value();
  wanted.file = place_of_code(common ? builtin_languages() : COVE_TRY(own_languages()).table, wanted.language, code);
  order.request.files.push_back({wanted.file, std::move(code)});
  return {};
}

std::string run_help() {
  return "Usage: cove run [OPTIONS] [--] COMMAND [ARGUMENTS]\n"
         "       cove run [OPTIONS] --lang LANGUAGE FILE|- [ARGUMENTS]\n\n"
         "Runs a command in a fresh sandbox that is removed afterwards. It sees this machine's programs, and\n"
         "only what you name of your files and of the network. If your server is running, it creates the sandbox; "
         "otherwise\n"
         "cove does so itself.\n" +
         options_help(option_infos(run_options())) +
         "\nExit codes: the program's own; 128+N after signal N; 124 after a timeout; 125 when Cove itself failed; "
         "126\n"
         "when the command cannot be executed; 127 when it is not found.\n\n"
         "Examples:\n"
         "  cove run -- python3 -c 'print(6*7)'\n"
         "  cove run --lang python script.py            echo 'print(1)' | cove run --lang python@3.10 -\n"
         "  cove run -it -- bash\n"
         "  cove run --workspace .:rw -m 512m --timeout 60s -- make test\n"
         "  cove run --copy-in plot.py --copy-in data.csv --copy-out '*.png:plots' -- python3 plot.py\n"
         "  cove run --lang python --results plots plot.py\n"
         "  cove run --allow @python,api.example.org -- pip install requests\n"
         "  cove run --json -- ls | jq .usage\n";
}

bool print_result(const ExecResult& result) {
  JsonLayout layout = ::isatty(STDOUT_FILENO) == 1 ? JsonLayout::Indented : JsonLayout::Line;
  return print(to_json(result, layout) + "\n");
}

// An exit code alone does not show that a limit was hit or that the program could not be started.
void explain_result(const ExecResult& result) {
  bool at_limit = result.status == ExecStatus::Timeout || result.status == ExecStatus::OomKilled ||
                  result.status == ExecStatus::LimitExceeded;
  if (at_limit || !result.started) tell(result.why);
}

// Named figure-01.png, figure-02.png and so on, in order; existing files are replaced.
Result<void> keep_figures(const std::string& folder, const std::vector<std::string>& figures) {
  if (folder.empty()) return {};
  COVE_TRY(sys::make_folders(folder));
  for (size_t i = 0; i < figures.size(); ++i)
    COVE_TRY(sys::write_file(concat(folder, "/", figure_name(i + 1)), figures[i]));
  return {};
}

std::vector<std::string> figures_of(const Json& result) {
  std::vector<std::string> figures;
  for (const Json& each : client::field(result, "results"))
    if (auto png = from_base64(client::text_of(client::field(each, "formats"), "png")); png && !png->empty())
      figures.push_back(std::move(*png));
  return figures;
}

std::vector<std::string> figures_of(const ExecResult& result) {
  std::vector<std::string> figures;
  for (const RichResult& each : result.results)
    if (auto png = from_base64(each.formats.value("png", "")); png && !png->empty()) figures.push_back(std::move(*png));
  return figures;
}

// The program has run: its result is kept even if its figures cannot be written.
void keep_or_tell(const std::string& folder, const std::vector<std::string>& figures) {
  if (auto kept = keep_figures(folder, figures); !kept) tell(concat("--results: ", kept.error().message()));
}

// Options that were not given come from the configuration, with and without a server.
Result<RunRequest> with_defaults(RunRequest request) {
  Config config = COVE_TRY(load_config({}));
  take_defaults(request.sandbox.limits, config.limits);
  if (request.sandbox.runtime.empty()) request.sandbox.runtime = config.runtime;
  return request;
}

int run_direct(const RunOrder& order) {
  auto request = with_defaults(order.request);
  if (!request) return complain(request.error());
  auto result = run_once(*request, own_languages, [](const std::string& line) { tell(line); }, warn_once);
  if (!result) return complain(result.error());
  keep_or_tell(order.results, figures_of(*result));
  if (order.output == Output::Plain)
    explain_result(*result);
  else if (!print_result(*result))
    return kOwnFailure;
  return exit_code_of(*result);
}

int run_through_server(const RunOrder& order, Api& api) {
  if (!fits_json(order.request))
    return complain(Error(Code::Invalid, "a word of the command or the environment is not UTF-8").hint("use --direct"));
  Result<Json> result = run_remote(api, order.request, [](const std::string& line) { tell(line); });
  if (!result) return complain(result.error());
  tell_note(*result);
  keep_or_tell(order.results, figures_of(*result));
  if (order.output == Output::Plain)
    explain(*result), tell_denials(*result, {});
  else if (!print_json(*result))
    return kOwnFailure;
  return exit_code_of(*result);
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0' && std::string_view(value) != "0";
}

// A network needs the gateway, which belongs to a server.
Result<Route> route_with_network(const RunOrder& order) {
  const bool by_option = order.route == Route::Direct;
  if (by_option || (order.route == Route::Either && is_set("COVE_DIRECT")))
    return fail(Error(Code::Unsupported, "without a server, a sandbox has no network")
                    .hint(by_option ? "leave out --direct" : "unset COVE_DIRECT, or use --server"));
  return Route::Server;
}

Result<Route> route_of(const RunOrder& order) {
  if (has_network(order.request.sandbox.network)) return route_with_network(order);
  if (!order.request.sandbox.secrets.empty() && order.route == Route::Either) return Route::Server;
  if (order.route != Route::Either) return order.route;
  if (is_set("COVE_DIRECT")) return Route::Direct;
  if (is_set("COVE_HOST")) return Route::Server;
  return fits_json(order.request) ? Route::Either : Route::Direct;
}

// By default through the server if it is running, or if COVE_HOST names one.
int run_by(Route route, const RunOrder& order) {
  if (route == Route::Direct && !order.request.sandbox.secrets.empty())
    return complain(Error(Code::Invalid, "--secret cannot be used with --direct").hint("the server has the secrets"));
  if (route == Route::Direct) return run_direct(order);
  const bool named = order.route == Route::Server || has_network(order.request.sandbox.network) ||
                     !order.request.sandbox.secrets.empty();
  auto api = connect_server(named ? client::WhenAbsent::Start : client::WhenAbsent::Fail);
  if (api) return run_through_server(order, *api);
  return route == Route::Either ? run_direct(order) : complain(api.error());
}

int run(const Arguments& args) {
  auto order = parse_run(args, machine_maxima);
  if (!order) return complain(order.error());
  if (order->help) return print(run_help()) ? 0 : kOwnFailure;
  if (auto completed = complete(*order); !completed) return complain(completed.error());
  auto route = route_of(*order);
  return route ? run_by(*route, *order) : complain(route.error());
}

}  // namespace

Verb run_verb() {
  return {"run",
          "run a command, or a snippet of code, in a fresh sandbox",
          run,
          run_help,
          [] { return option_infos(run_options()); },
          Completes::Command};
}

}  // namespace cove::cli
