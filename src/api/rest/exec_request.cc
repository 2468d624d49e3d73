#include "api/rest/exec_request.h"

#include <csignal>

#include "api/rest/sandbox_request.h"
#include "api/rest/values.h"
#include "base/encoding.h"
#include "base/text.h"
#include "engine/context/contexts.h"
#include "model/language.h"
#include "model/limit_fields.h"

namespace cove::api {
namespace {

constexpr size_t kLongestTag = 255;

Result<std::string> decoded(const Fields& fields, const std::string& name, const std::string& text) {
  auto bytes = from_base64(text);
  if (!bytes) return fail(fields.wrong(name, "is not base64"));
  return std::move(*bytes);
}

// Code, or the path of a file of code inside.
Result<void> take_code(Fields& fields, const LanguageTable& languages, engine::ExecOrder& order) {
  auto code = COVE_TRY(fields.data("code"));
  auto file = COVE_TRY(fields.text("file"));
  auto language = COVE_TRY(fields.text("language"));
  if (!language)
    return fail(fields.wrong("language", concat("is missing: '", code ? "code" : "file", "' needs it"))
                    .hint("GET /v1/languages lists the languages"));
  LanguageWish wish = COVE_TRY(fields.checked("language", parse_language(languages, *language)));
  order.language = wish.name;
  order.version = wish.version;
  order.code = code.value_or("");
  order.file = file.value_or("");
  if (file && !file->starts_with('/')) return fail(fields.wrong("file", "must be an absolute path"));
  order.arguments = COVE_TRY(fields.texts("args")).value_or(std::vector<std::string>());
  return {};
}

// A limit that is named is held or refused: these are held for the sandbox only.
Result<void> refuse_sandbox_limits(Fields& fields) {
  for (const LimitField& field : kLimitFields)
    if (field.of != LimitOf::Exec && fields.raw(api_name(field)))
      return fail(fields.wrong(api_name(field), "cannot be set for one exec")
                      .as(Code::Unsupported)
                      .hint("set it for the sandbox"));
  return {};
}

// An exec may have no network where its sandbox has one; lists and budgets are the sandbox's.
Result<void> take_exec_network(Fields& fields, ExecSpec& spec) {
  auto nested = COVE_TRY(fields.object("network"));
  if (!nested) return {};
  for (const char* name : {"allow", "block", "budget", "learn", "enabled"})
    if (nested->raw(name))
      return fail(nested->wrong(name, "cannot be set for one exec")
                      .as(Code::Unsupported)
                      .hint("set it for the sandbox; an exec may have the tier 'sandbox' or 'restricted'"));
  auto tier = COVE_TRY(required(*nested, "tier", nested->choice("tier", tier_names())));
  COVE_TRY(nested->finish());
  if (*parse_tier(tier) > NetworkTier::Restricted)
    return fail(nested->wrong("tier", concat("cannot be '", tier, "' for one exec"))
                    .as(Code::Unsupported)
                    .hint("an exec has the network of its sandbox, or the tier 'sandbox' or 'restricted'"));
  spec.no_network = true;
  return {};
}

Result<void> take_place(Fields& fields, ExecSpec& spec) {
  COVE_TRY(take_exec_network(fields, spec));
  COVE_TRY(take_surroundings(fields, spec));
  if (auto user = COVE_TRY(fields.text("user"))) spec.user = COVE_TRY(fields.checked("user", check_user(*user)));
  return take_pty(fields, spec);
}

}  // namespace

Result<void> take_command(Fields& fields, const LanguageTable& languages, engine::ExecOrder& order) {
  auto argv = COVE_TRY(fields.texts("argv"));
  auto shell = COVE_TRY(fields.text("shell"));
  const bool code = fields.raw("code") != nullptr, file = fields.raw("file") != nullptr;
  if (argv.has_value() + shell.has_value() + code + file != 1)
    return fail(Code::Invalid, "exactly one of 'argv', 'shell', 'code' and 'file' must be given");
  if (code || file) return take_code(fields, languages, order);
  for (const char* name : {"language", "args"})
    if (fields.raw(name)) return fail(fields.wrong(name, "goes with 'code' or 'file'"));
  if (shell) {
    order.shell = *shell;
    order.spec.argv = {"sh", "-c", *shell};
    return {};
  }
  if (argv->empty() || argv->front().empty()) return fail(fields.wrong("argv", "names no program"));
  order.spec.argv = std::move(*argv);
  return {};
}

Result<void> take_stdin(Fields& fields, engine::ExecOrder& order, SilentInput silent) {
  const Json* value = fields.raw("stdin");
  if (!value) {
    order.spec.input = !fields.has("stdin") && silent == SilentInput::Open;
    return {};
  }
  order.spec.input = true;
  if (!value->is_object()) {
    order.input = COVE_TRY(fields.data("stdin"));
    return {};
  }
  Fields nested = *COVE_TRY(fields.object("stdin"));
  if (nested.raw("open")) {
    order.spec.input = *COVE_TRY(nested.flag("open"));
    return nested.finish();
  }
  order.input = COVE_TRY(decoded(nested, "base64", COVE_TRY(required(nested, "base64", nested.data("base64")))));
  return nested.finish();
}

Result<void> take_pty(Fields& fields, ExecSpec& spec) {
  auto pty = COVE_TRY(fields.object("pty"));
  if (!pty) return {};
  spec.pty = COVE_TRY(take_window(*pty));
  return pty->finish();
}

Result<void> take_exec_limits(Fields& fields, engine::ExecOrder& order) {
  if (auto nested = COVE_TRY(fields.object("limits"))) {
    COVE_TRY(take_limits(*nested, order.limits));
    COVE_TRY(refuse_sandbox_limits(*nested));
    COVE_TRY(nested->finish());
  }
  if (auto timeout = COVE_TRY(fields.duration("timeout"))) order.limits.timeout.name(*timeout);
  return {};
}

Result<void> take_surroundings(Fields& fields, ExecSpec& spec) {
  spec.env = COVE_TRY(take_environment(fields, "env"));
  spec.cwd = COVE_TRY(fields.text("cwd")).value_or("");
  if (!spec.cwd.empty() && !spec.cwd.starts_with('/')) return fail(fields.wrong("cwd", "must be an absolute path"));
  return {};
}

Result<ExecRequest> parse_exec(const Json& body, const LanguageTable& languages, SilentInput silent) {
  Fields fields(body);
  ExecRequest request;
  engine::ExecOrder& order = request.order;
  COVE_TRY(take_command(fields, languages, order));
  COVE_TRY(take_place(fields, order.spec));
  COVE_TRY(take_stdin(fields, order, silent));
  COVE_TRY(take_exec_limits(fields, order));
  order.detached = COVE_TRY(fields.flag("detach")).value_or(false);
  order.tag = COVE_TRY(fields.text("tag")).value_or("");
  order.secrets = COVE_TRY(fields.texts("secrets")).value_or(std::vector<std::string>());
  if (order.tag.size() > kLongestTag)
    return fail(fields.wrong("tag", concat("is longer than ", kLongestTag, " bytes")));
  if (engine::is_context_tag(order.tag)) return fail(fields.wrong("tag", "is one that contexts have"));
  if (auto word = COVE_TRY(fields.choice("on_disconnect", {"kill", "keep"})))
    request.on_disconnect = *word == "kill" ? engine::OnDisconnect::Kill : engine::OnDisconnect::Keep;
  COVE_TRY(fields.finish());
  return request;
}

Result<std::optional<std::string>> take_bytes(Fields& fields) {
  auto text = COVE_TRY(fields.data("text"));
  auto base64 = COVE_TRY(fields.data("base64"));
  if (text && base64) return fail(fields.wrong("base64", "cannot be given together with 'text'"));
  if (base64) return COVE_TRY(decoded(fields, "base64", *base64));
  return text;
}

Result<WindowSize> take_window(Fields& fields) {
  auto rows = COVE_TRY(required(fields, "rows", fields.integer("rows", 1, UINT16_MAX)));
  auto columns = COVE_TRY(required(fields, "cols", fields.integer("cols", 1, UINT16_MAX)));
  return WindowSize{static_cast<uint16_t>(rows), static_cast<uint16_t>(columns)};
}

Result<SignalRequest> take_signal(Fields& fields) {
  const Json* value = fields.raw("signal");
  if (!value) return fail(fields.missing("signal"));
  SignalRequest request;
  if (value->is_number())
    request.number = static_cast<int>(*COVE_TRY(fields.integer("signal", 1, SIGRTMAX)));
  else
    request.number =
        COVE_TRY(fields.checked("signal", parse_signal(COVE_TRY(required(fields, "signal", fields.text("signal"))))));
  request.group = COVE_TRY(fields.flag("group")).value_or(false);
  return request;
}

}  // namespace cove::api
