#include "cli/run_order.h"

#include <algorithm>

#include "cli/run_values.h"
#include "image/catalogue.h"
#include "model/figures.h"
#include "model/language.h"
#include "model/limit_fields.h"
#include "sys/file.h"

namespace cove::cli {
namespace {

constexpr std::string_view kHome = "/home/user/";

// The kernel's limits: of one argument with its NUL, and of all arguments and the environment, less what is added
// inside.
constexpr size_t kMaxArgument = 128 * kKiB - 1;
constexpr size_t kMaxCommandLine = 2 * kMiB - 64 * kKiB;

// The option that sets a limit.
std::string flag_of_limit(const std::string& limit) {
  const LimitField* field = find_limit_field(limit);
  const size_t equals = field->argument.find('=');
  if (equals == field->argument.npos) return concat("--", field->option);
  return concat("--", field->option, " ", field->argument.substr(0, equals));  // --ulimit nofile
}

Result<void> check_limits(const Limits& limits, Maxima (*maxima)()) {
  if (!names_capped_limit(limits)) return {};
  auto impossible = find_impossible(limits, maxima());
  if (!impossible) return {};
  return fail(Code::Invalid,
              concat(flag_of_limit(impossible->name), ": ", impossible->value, " is ", impossible->bound));
}

// Shortens a long text, so that the message stays readable.
std::string shortened(const std::string& text) { return text.size() <= 40 ? text : text.substr(0, 40) + "…"; }

Result<void> check_size(const RunRequest& request) {
  size_t total = 0;
  auto add = [&](const std::string& what, size_t size) -> Result<void> {
    total += size + 1 + sizeof(char*);
    if (size <= kMaxArgument) return {};
    return fail(Error(Code::Invalid, concat(what, " is ", size, " bytes long; the kernel allows ", kMaxArgument))
                    .hint("pass it on standard input, or as a file with --copy-in"));
  };
  for (const std::string& word : request.code ? request.code->arguments : request.exec.argv)
    COVE_TRY(add(concat("the argument '", shortened(word), "'"), word.size()));
  for (const auto& [name, value] : request.sandbox.env)
    COVE_TRY(add(concat("the variable ", shortened(name)), name.size() + 1 + value.size()));
  if (total <= kMaxCommandLine) return {};
  return fail(Error(Code::Invalid, concat("the command line and the environment are ", total,
                                          " bytes long; the kernel allows ", kMaxCommandLine))
                  .hint("pass some of it on standard input, or as a file with --copy-in"));
}

Result<void> check_code_file(const std::string& path) {
  struct stat info = COVE_TRY(sys::stat(path));
  if (!S_ISREG(info.st_mode)) return fail(Code::Invalid, concat(path, " is not a file"));
  COVE_TRY(sys::open(path, O_RDONLY));
  return {};
}

// `--lang python FILE ARGUMENTS…` copies the file into the home; its interpreter is looked up later.
Result<void> take_code(RunOrder& order, const std::vector<std::string>& words) {
  if (order.language->empty())
    return fail(Error(Code::Invalid, "the value of --lang is empty").hint("cove languages lists them"));
  if (words.empty())
    return fail(Error(Code::Invalid, "--lang needs a file of code").hint("name it, or write - for standard input"));
  RunCode code{*order.language, "", {words.begin() + 1, words.end()}};
  if (words[0] == "-") {
    order.code_from_stdin = true;
    order.request.interactive = false;
  } else {
    COVE_TRY_NOTE("--lang", check_code_file(words[0]));
    code.file = concat(kHome, words[0].substr(words[0].rfind('/') + 1));
    order.request.copy_in.push_back({words[0], code.file});
  }
  order.request.entrypoint.emplace();
  order.request.code = std::move(code);
  return {};
}

bool is_python(const std::string& language) {
  Result<LanguageWish> wish = parse_language(builtin_languages(), language);
  return wish && wish->name == kPython;
}

Result<void> take_command(RunOrder& order, const std::vector<std::string>& words) {
  if (order.language) return take_code(order, words);
  // An image may have a command of its own.
  if (words.empty() && !is_host_image(order.request.sandbox.image)) return {};
  if (words.empty())
    return fail(Error(Code::Invalid, "no command to run").hint("write it after the options: cove run -- COMMAND…"));
  if (words[0].empty()) return fail(Code::Invalid, "the command is empty");
  order.request.exec.argv = words;
  return {};
}

// --env overrides --env-file, in any order.
void merge_environment(RunOrder& order) {
  Environment merged = std::move(order.file_environment);
  for (const auto& [name, value] : order.request.sandbox.env) set_variable(merged, name, value);
  order.request.sandbox.env = std::move(merged);
  order.file_environment.clear();
}

// Figures are captured only if the caller asked for them: otherwise the code runs unchanged.
Result<void> take_results(RunOrder& order) {
  bool draws = order.language && is_python(*order.language);
  if (!order.results.empty() && !draws)
    return fail(Error(Code::Invalid, "--results requires --lang python").hint("use --copy-out for other files"));
  if (!draws || (order.results.empty() && order.output != Output::AsJson)) return {};
  Environment known = order.request.sandbox.env;
  want_figures(known);
  if (known.size() > order.request.sandbox.env.size()) order.request.exec.env.push_back(known.back());
  return {};
}

Result<void> check_output(const RunOrder& order) {
  if (order.output == Output::AsJson && order.request.exec.pty)
    return fail(
        Error(Code::Invalid, "--json and --tty cannot be combined").hint("output on a terminal is not recorded"));
  return {};
}

}  // namespace

std::string place_of_code(const LanguageTable& languages, const std::string& language, const std::string& code) {
  Result<LanguageWish> wish = parse_language(languages, language);
  if (!wish) return concat(kHome, "main");
  const Language& known = **find_language(languages, wish->name);
  std::string name = "main";
  if (known.file_named_after_class) name = java_class(code).substr(java_class(code).rfind('.') + 1);
  return concat(kHome, name, known.extension);
}

Result<RunOrder> parse_run(const std::vector<std::string>& args, Maxima (*maxima)()) {
  RunOrder order;
  SandboxSpec& sandbox = order.request.sandbox;
  sandbox.user.clear();
  sandbox.image.clear();
  std::vector<std::string> words = COVE_TRY(apply_options(run_options(), args, order));
  if (order.help) return order;
  // The language selects the image unless one is named.
  if (sandbox.image.empty() && !order.language) sandbox.image = SandboxSpec().image;
  if (sandbox.user.empty() && is_host_image(sandbox.image)) sandbox.user = SandboxSpec().user;
  merge_environment(order);
  COVE_TRY(take_command(order, words));
  COVE_TRY(take_results(order));
  COVE_TRY(check_output(order));
  COVE_TRY(check_limits(order.request.sandbox.limits, maxima));
  COVE_TRY(check_size(order.request));
  if (order.output == Output::AsJson) order.request.stdio = Stdio::Capture;
  return order;
}

}  // namespace cove::cli
