#include "cli/sandbox_options.h"

namespace cove::cli {

std::unexpected<Error> second_workspace() {
  return fail(Error(Code::Invalid, "a sandbox can have only one workspace")
                  .hint("name the folder that contains both, or copy files in with --copy-in or cove cp"));
}

Result<std::string> parse_secret_name(const std::string& text) {
  if (!text.empty() && text.find('=') == text.npos) return text;
  return fail(Error(Code::Invalid, "that is not the name of a secret")
                  .hint("set it with cove secret set NAME, which asks for the value; then write --secret NAME"));
}

Result<void> add_label(SandboxSpec& sandbox, const std::string& text) {
  auto [key, value] = COVE_TRY(parse_label(text));
  sandbox.labels[key] = value;
  return {};
}

namespace {

Result<uint64_t> parse_count(const std::string& text) {
  return static_cast<uint64_t>(COVE_TRY(parse_integer(text, 1, INT64_MAX)));
}

Result<uint64_t> parse_amount(const LimitField& field, const std::string& text) {
  if (field.zero == LimitZero::Nothing && text == "0") return 0;
  if (field.kind != LimitKind::Count) return parse_bytes(text);
  return field.argument.contains('=') ? parse_ulimit(text) : parse_count(text);
}

}  // namespace

Result<void> name_limit(Limits& limits, const LimitField& field, const std::string& text) {
  if (field.number)
    (limits.*field.number).name(COVE_TRY(parse_positive(text)));
  else if (field.count)
    (limits.*field.count).name(COVE_TRY(parse_amount(field, text)));
  else
    (limits.*field.time).name(COVE_TRY(parse_duration(text)));
  return {};
}

}  // namespace cove::cli
