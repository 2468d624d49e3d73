#include "cli/sandbox_options.h"

namespace cove::cli {

Result<void> must_be(const std::string& value, std::string_view only) {
  if (value == only) return {};
  return fail(Error(Code::Unsupported, concat("'", value, "' is not supported")).hint(concat("only ", only, " is")));
}

std::unexpected<Error> second_workspace() {
  return fail(Error(Code::Invalid, "a sandbox has one workspace, and another one was named before")
                  .hint("name the folder that contains both, or copy files in with --copy-in or cove cp"));
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

}  // namespace cove::cli
