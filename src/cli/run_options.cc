#include "cli/run_order.h"
#include "cli/run_values.h"

namespace cove::cli {
namespace {

constexpr std::string_view kProgram = "What runs";
constexpr std::string_view kFiles = "Files";
constexpr std::string_view kLimits = "Limits (refused where this machine cannot hold them)";
constexpr std::string_view kFences = "Fences";
constexpr std::string_view kOther = "Other";

template <typename T>
Result<void> name_limit(Limit<T>& limit, Result<T> value) {
  if (!value) return fail(std::move(value).error());
  limit.name(*value);
  return {};
}

template <typename T>
Result<void> assign(T& target, Result<T> value) {
  if (!value) return fail(std::move(value).error());
  target = std::move(*value);
  return {};
}

template <typename T>
Result<void> append(std::vector<T>& list, Result<T> value) {
  if (!value) return fail(std::move(value).error());
  list.push_back(std::move(*value));
  return {};
}

// A choice of which there is one so far.
Result<void> must_be(const std::string& value, std::string_view only) {
  if (value == only) return {};
  return fail(Error(Code::Unsupported, concat("'", value, "' is not supported")).hint(concat("only ", only, " is")));
}

Result<void> add_label(SandboxSpec& sandbox, const std::string& text) {
  auto [key, value] = COVE_TRY(parse_label(text));
  sandbox.labels[key] = value;
  return {};
}

Result<void> limit_processes(Limits& limits, const std::string& text) {
  limits.processes.name(static_cast<uint64_t>(COVE_TRY(parse_integer(text, 1, INT64_MAX))));
  return {};
}

Limits& limits(RunOrder& order) { return order.request.sandbox.limits; }
SandboxSpec& sandbox(RunOrder& order) { return order.request.sandbox; }

using Text = const std::string&;
constexpr auto kNothing = [](RunOrder&, Text) -> Result<void> { return {}; };

constexpr Option<RunOrder> kOptions[] = {
    {{"lang", '\0', "LANGUAGE", "run a FILE of code, or - for standard input:\npython, javascript or bash", kProgram},
     [](RunOrder& order, Text text) -> Result<void> {
       order.language = text;
       return {};
     }},
    {{"env", 'e', "KEY[=VALUE]", "set a variable; without a value: take yours", kProgram},
     [](RunOrder& order, Text text) { return add_variable(sandbox(order).env, text); }},
    {{"env-file", '\0', "FILE", "set the variables in a file of KEY=VALUE lines", kProgram},
     [](RunOrder& order, Text text) { return add_variables_of_file(order.file_environment, text); }},
    {{"workdir", 'w', "PATH", "the working folder inside (default: the workspace if\nthere is one, else the home)",
      kProgram},
     [](RunOrder& order, Text text) { return assign(order.request.exec.cwd, parse_workdir(text)); }},
    {{"user", 'u', "USER", "name or UID[:GID] inside (default: user)", kProgram},
     [](RunOrder& order, Text text) { return assign(sandbox(order).user, parse_user(text)); }},
    {{"tty", 't', "", "give it a terminal", kProgram},
     [](RunOrder& order, Text) -> Result<void> {
       order.request.exec.pty.emplace();
       return {};
     }},
    {{"interactive", 'i', "", "forward standard input (this is always so)", kProgram}, kNothing},
    {{"image", '\0', "IMAGE", "host, or host@FINGERPRINT to insist on a state of it", kProgram},
     [](RunOrder& order, Text text) { return assign(sandbox(order).image, parse_image(text)); }},

    {{"workspace", '\0', "PATH[:ro|rw]", "show a folder of yours at /workspace (default: ro)", kFiles},
     [](RunOrder& order, Text text) { return assign(sandbox(order).workspace, parse_workspace(text)); }},
    {{"copy-in", '\0', "SRC[:DST]", "copy a file or folder in first", kFiles},
     [](RunOrder& order, Text text) { return append(order.request.copy_in, parse_copy_in(text)); }},
    {{"copy-out", '\0', "GLOB[:DIR]", "copy files that match out afterwards", kFiles},
     [](RunOrder& order, Text text) { return append(order.request.copy_out, parse_copy_out(text)); }},

    {{"timeout", '\0', "TIME", "wall clock, like 30s or 5m (default: none)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).timeout, parse_duration(text)); }},
    {{"memory", 'm', "SIZE", "like 512m (default: 2g)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).memory, parse_bytes(text)); }},
    {{"cpus", '\0', "NUMBER", "like 0.5 (default: 1)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).cpus, parse_positive(text)); }},
    {{"pids-limit", '\0', "NUMBER", "processes and threads (default: 1024)", kLimits},
     [](RunOrder& order, Text text) { return limit_processes(limits(order), text); }},
    {{"disk", '\0', "SIZE", "what may be written (default: 1g of memory)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).disk, parse_bytes(text)); }},
    {{"file-size", '\0', "SIZE", "of any one file (default: none)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).file_size, parse_bytes(text)); }},
    {{"ulimit", '\0', "nofile=N", "open files of a process (default: 1024)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).open_files, parse_ulimit(text)); }},
    {{"io-read", '\0', "SIZE", "bytes a second from disk (default: none)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).io_read, parse_bytes(text)); }},
    {{"io-write", '\0', "SIZE", "bytes a second to disk (default: none)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).io_write, parse_bytes(text)); }},
    {{"max-output", '\0', "SIZE", "of stdout and stderr, then it is killed (default: none)", kLimits},
     [](RunOrder& order, Text text) { return name_limit(limits(order).output, parse_bytes(text)); }},
    {{"strict", '\0', "", "refuse to start where a default limit cannot be held\nby the best means", kLimits},
     [](RunOrder& order, Text) -> Result<void> {
       sandbox(order).strictness = Strictness::Strict;
       return {};
     }},

    {{"network", '\0', "none", "there is no network inside", kFences},
     [](RunOrder&, Text text) { return must_be(text, "none"); }},
    {{"nesting", '\0', "", "let user namespaces be used inside (bwrap, Chromium)", kFences},
     [](RunOrder& order, Text) -> Result<void> {
       sandbox(order).nesting = true;
       return {};
     }},
    {{"runtime", '\0', "native", "what builds the walls", kFences},
     [](RunOrder&, Text text) { return must_be(text, "native"); }},

    {{"json", '\0', "", "print the result as JSON, with the output in it", kOther},
     [](RunOrder& order, Text) -> Result<void> {
       order.output = Output::Json;
       return {};
     }},
    {{"name", '\0', "NAME", "a name for the sandbox", kOther},
     [](RunOrder& order, Text text) { return assign(sandbox(order).name, parse_name(text)); }},
    {{"label", 'l', "KEY[=VALUE]", "a label for the sandbox", kOther},
     [](RunOrder& order, Text text) { return add_label(sandbox(order), text); }},
    {{"rm", '\0', "", "remove the sandbox afterwards (this is always so)", kOther}, kNothing},
    {{"direct", '\0', "", "run without a server (this is always so)", kOther}, kNothing},
    {{"help", 'h', "", "print this help", kOther},
     [](RunOrder& order, Text) -> Result<void> {
       order.help = true;
       return {};
     }},
};

}  // namespace

std::span<const Option<RunOrder>> run_options() { return kOptions; }

}  // namespace cove::cli
