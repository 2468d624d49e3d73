#pragma once

#include <string>

#include "base/text.h"
#include "cli/options.h"
#include "cli/run_values.h"
#include "model/runtime_kind.h"
#include "model/sandbox.h"

// The options that say what sandbox is wanted: those of `cove run`, `cove create` and, in part, `cove update`. An order
// that has them has a function `SandboxSpec& sandbox_of(Order&)` beside it, and a member `file_environment`.
namespace cove::cli {

inline constexpr std::string_view kProgram = "What runs";
inline constexpr std::string_view kFiles = "Files";
inline constexpr std::string_view kLimits = "Limits (refused where this machine cannot hold them)";
inline constexpr std::string_view kFences = "Fences";
inline constexpr std::string_view kLife = "Its life";
inline constexpr std::string_view kOther = "Other";

using Text = const std::string&;

// Of the table that is built in, for completion: "python", "python@3.12".
std::vector<std::string> languages_of_table();

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
Result<void> must_be(const std::string& value, std::string_view only);
// Of an order that names one already.
std::unexpected<Error> second_workspace();
Result<void> add_label(SandboxSpec& sandbox, const std::string& text);
Result<void> limit_processes(Limits& limits, const std::string& text);

template <typename T>
inline constexpr Option<T> kEnvOption = {
    {"env", 'e', "KEY[=VALUE]", "set a variable; without a value: take yours", kProgram},
    [](T& order, Text text) { return add_variable(sandbox_of(order).env, text); }};
template <typename T>
inline constexpr Option<T> kEnvFileOption = {
    {"env-file", '\0', "FILE", "set the variables in a file of KEY=VALUE lines", kProgram},
    [](T& order, Text text) { return add_variables_of_file(order.file_environment, text); }};
template <typename T>
inline constexpr Option<T> kUserOption = {
    {"user", 'u', "USER", "name or UID[:GID] inside (default: user)", kProgram},
    [](T& order, Text text) { return assign(sandbox_of(order).user, parse_user(text)); }};
template <typename T>
inline constexpr Option<T> kImageOption = {
    {"image", '\0', "IMAGE", "host, or one that was pulled or imported: a name or a\ndigest (default: host)", kProgram},
    [](T& order, Text text) { return assign(sandbox_of(order).image, parse_image(text)); }};

template <typename T>
inline constexpr Option<T> kWorkspaceOption = {
    {"workspace", '\0', "PATH[:ro|rw|review]", "show a folder of yours at /workspace (default: ro)", kFiles},
    [](T& order, Text text) -> Result<void> {
      if (sandbox_of(order).workspace.access != Access::None) return second_workspace();
      return assign(sandbox_of(order).workspace, parse_workspace(text));
    }};

template <typename T>
inline constexpr Option<T> kTimeoutOption = {
    {"timeout", '\0', "TIME", "wall clock, like 30s or 5m (default: none)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.timeout, parse_duration(text)); }};
template <typename T>
inline constexpr Option<T> kMemoryOption = {
    {"memory", 'm', "SIZE", "like 512m (default: 2g)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.memory, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kCpusOption = {
    {"cpus", '\0', "NUMBER", "like 0.5 (default: 1)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.cpus, parse_positive(text)); }};
template <typename T>
inline constexpr Option<T> kPidsOption = {
    {"pids-limit", '\0', "NUMBER", "processes and threads (default: 1024)", kLimits},
    [](T& order, Text text) { return limit_processes(sandbox_of(order).limits, text); }};
template <typename T>
inline constexpr Option<T> kDiskOption = {
    {"disk", '\0', "SIZE", "what may be written (default: 1g of memory)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.disk, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kFileSizeOption = {
    {"file-size", '\0', "SIZE", "of any one file (default: none)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.file_size, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kUlimitOption = {
    {"ulimit", '\0', "nofile=N", "open files of a process (default: 1024)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.open_files, parse_ulimit(text)); }};
template <typename T>
inline constexpr Option<T> kIoReadOption = {
    {"io-read", '\0', "SIZE", "bytes a second from disk (default: none)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.io_read, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kIoWriteOption = {
    {"io-write", '\0', "SIZE", "bytes a second to disk (default: none)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.io_write, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kMaxOutputOption = {
    {"max-output", '\0', "SIZE", "of stdout and stderr, then it is killed (default: none)", kLimits},
    [](T& order, Text text) { return name_limit(sandbox_of(order).limits.output, parse_bytes(text)); }};
template <typename T>
inline constexpr Option<T> kStrictOption = {
    {"strict", '\0', "", "refuse to start where a default limit cannot be held\nby the best means", kLimits},
    [](T& order, Text) -> Result<void> {
      sandbox_of(order).strictness = Strictness::Strict;
      return {};
    }};

template <typename T>
inline constexpr Option<T> kNetworkOption = {{"network", '\0', "none", "there is no network inside", kFences},
                                             [](T&, Text text) { return must_be(text, "none"); }};
template <typename T>
inline constexpr Option<T> kNestingOption = {
    {"nesting", '\0', "", "let user namespaces be used inside (bwrap, Chromium)", kFences},
    [](T& order, Text) -> Result<void> {
      sandbox_of(order).nesting = true;
      return {};
    }};
template <typename T>
inline constexpr Option<T> kRuntimeOption = {
    {"runtime", '\0', "NAME",
     "isolation backend: native (default), runc, crun, runsc,\noci (the first of these that is found), docker or "
     "podman",
     kFences, runtime_names},
    [](T& order, Text text) { return assign(sandbox_of(order).runtime, check_runtime(text)); }};

template <typename T>
inline constexpr Option<T> kNameOption = {
    {"name", '\0', "NAME", "a name for the sandbox", kOther},
    [](T& order, Text text) { return assign(sandbox_of(order).name, parse_name(text)); }};
template <typename T>
inline constexpr Option<T> kLabelOption = {{"label", 'l', "KEY[=VALUE]", "a label for the sandbox", kOther},
                                           [](T& order, Text text) { return add_label(sandbox_of(order), text); }};

}  // namespace cove::cli
