#include "api/rest/execute_request.h"

#include <algorithm>

#include "api/rest/exec_request.h"
#include "api/rest/query.h"
#include "api/rest/sandbox_request.h"
#include "api/rest/session_request.h"
#include "api/rest/values.h"
#include "base/text.h"

namespace cove::api {
namespace {

using engine::ExecuteOrder;
using engine::InputFile;

constexpr size_t kMostInputFiles = 1000;
constexpr size_t kMostPatterns = 100;
constexpr size_t kLongestPattern = 1024;

Result<InputFile> take_file(Fields& fields) {
  InputFile file;
  file.path = COVE_TRY(fields.checked("path", check_path(COVE_TRY(required(fields, "path", fields.text("path"))))));
  if (file.path.ends_with('/')) return fail(fields.wrong("path", "is not the path of a file"));
  auto data = COVE_TRY(take_bytes(fields));
  if (!data)
    return fail(fields.wrong("text", concat("is missing: the file '", file.path, "' has neither 'text' nor 'base64'")));
  file.data = std::move(*data);
  COVE_TRY(fields.finish());
  return file;
}

Result<std::vector<InputFile>> take_files(Fields& fields) {
  std::vector<InputFile> files;
  for (Fields& each : COVE_TRY(fields.objects("files", kMostInputFiles))) files.push_back(COVE_TRY(take_file(each)));
  return files;
}

Result<std::optional<std::vector<std::string>>> take_outputs(Fields& fields) {
  auto patterns = COVE_TRY(fields.texts("outputs"));
  if (!patterns) return patterns;
  if (patterns->size() > kMostPatterns)
    return fail(fields.wrong("outputs", concat("has more than ", kMostPatterns, " patterns")));
  for (const std::string& pattern : *patterns) COVE_TRY(fields.checked("outputs", check_pattern(pattern)));
  return patterns;
}

// A session has all that beforehand.
Result<void> refuse_with_session(Fields& fields) {
  for (const char* name :
       {"agent", "scope", "workspace", "image", "runtime", "name", "labels", "nesting", "strict", "network"})
    if (fields.raw(name)) return fail(fields.wrong(name, "does not go with 'session'").hint("a session has its own"));
  return {};
}

// What others share is not made for this call.
Result<void> refuse_when_shared(Fields& fields) {
  for (const char* name : {"name", "labels", "nesting", "strict"})
    if (fields.raw(name))
      return fail(fields.wrong(name, "needs a sandbox of the call's own").hint("leave 'agent' and 'scope' out"));
  return {};
}

Result<void> take_own_sandbox(Fields& fields, SandboxSpec& spec) {
  if (auto name = COVE_TRY(fields.text("name"))) spec.name = COVE_TRY(fields.checked("name", check_name(*name)));
  spec.labels = COVE_TRY(fields.text_map("labels")).value_or(spec.labels);
  spec.nesting = COVE_TRY(fields.flag("nesting")).value_or(false);
  if (COVE_TRY(fields.flag("strict")).value_or(false)) spec.strictness = Strictness::Strict;
  return {};
}

// `command` and `entrypoint`, as an image's own are.
Result<void> take_image_command(Fields& fields, ExecuteOrder& request) {
  for (const char* name : {"argv", "shell", "code", "file", "language", "args"})
    if (fields.raw(name)) return fail(fields.wrong(name, "does not go with 'command' and 'entrypoint'"));
  ExecuteOrder::Command command;
  command.entrypoint = COVE_TRY(fields.texts("entrypoint"));
  command.words = COVE_TRY(fields.texts("command")).value_or(std::vector<std::string>());
  request.command = std::move(command);
  return {};
}

// Who runs it; of a sandbox for this call alone, whose sandbox it is, too.
Result<void> take_user(Fields& fields, ExecuteOrder& request) {
  std::string user = COVE_TRY(fields.text("user")).value_or("");
  if (!user.empty()) COVE_TRY(fields.checked("user", check_user(user)));
  (request.passing ? request.place.sandbox.user : request.order.spec.user) = std::move(user);
  return {};
}

Result<void> check_form(const ExecuteOrder& request, RunForm form) {
  if (form == RunForm::Stream) return {};
  const ExecSpec& spec = request.order.spec;
  const bool open = spec.input && !request.order.input;
  if (!spec.pty && !open) return {};
  return fail(Error(Code::Invalid, spec.pty ? "'pty' needs a stream" : "'stdin' stays open in a stream only")
                  .hint("ask for it with Accept: text/event-stream")
                  .at(spec.pty ? "/pty" : "/stdin"));
}

// Those of the sandbox and those of the exec come together.
Result<void> take_all_limits(Fields& fields, ExecuteOrder& request) {
  if (auto nested = COVE_TRY(fields.object("limits"))) {
    Limits limits = request.place.sandbox.limits;
    COVE_TRY(take_limits(*nested, limits));
    request.order.limits = limits;
    request.place.sandbox.limits = limits;
    COVE_TRY(nested->finish());
  }
  if (auto timeout = COVE_TRY(fields.duration("timeout"))) request.order.limits.timeout.name(*timeout);
  return {};
}

Result<void> take_place(Fields& fields, ExecuteOrder& request, const Config& config) {
  engine::SessionOrder& place = request.place;
  auto agent = COVE_TRY(take_agent(fields));
  auto scope = COVE_TRY(take_scope(fields));
  place.agent = agent.value_or("");
  place.scope = scope.value_or(agent ? engine::SessionScope::Agent : engine::SessionScope::Session);
  COVE_TRY(check_scope(place));
  request.passing = place.scope == engine::SessionScope::Session;
  place.sandbox.limits = config.limits;
  COVE_TRY(take_sandbox(fields, place, config));
  if (!request.passing) COVE_TRY(refuse_when_shared(fields));
  COVE_TRY(take_own_sandbox(fields, place.sandbox));
  return take_all_limits(fields, request);
}

// For people who spell things almost right: every field is known to `fields`, whether it goes with the others or not.
void know_all(Fields& fields) {
  for (const char* name : {"agent", "scope", "workspace", "image", "runtime", "limits", "timeout", "name", "labels",
                           "nesting", "strict", "network", "secrets", "command", "entrypoint"})
    fields.has(name);
}

bool has_balanced(const std::string& pattern, char open, char close) {
  int depth = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
      continue;
    }
    if (pattern[i] == open) ++depth;
    if (pattern[i] == close && --depth < 0) return open == '[';  // a lone ] is itself
  }
  return depth == 0;
}

}  // namespace

Result<void> check_pattern(const std::string& pattern) {
  auto wrong = [&](const char* why) {
    return fail(Error(Code::Invalid, concat("'", pattern, "' ", std::string_view(why)))
                    .hint("write a pattern of paths below the working folder, like out/*.csv"));
  };
  if (pattern.empty()) return fail(Error(Code::Invalid, "a pattern is empty").hint("leave it out, or write *"));
  if (pattern.size() > kLongestPattern)
    return fail(Code::Invalid, concat("a pattern is longer than ", kLongestPattern));
  if (pattern.starts_with('/')) return wrong("is absolute");
  if (pattern.starts_with('~')) return wrong("begins with ~");
  std::vector<std::string> parts = split(pattern, '/');
  if (std::ranges::find(parts, "..") != parts.end()) return wrong("leads out of the working folder");
  if (!has_balanced(pattern, '[', ']')) return wrong("has a [ without its ]");
  if (!has_balanced(pattern, '{', '}')) return wrong("has braces that do not match");
  if (pattern.ends_with('\\')) return wrong("ends with a backslash");
  return {};
}

Result<ExecuteOrder> parse_execute(const Json& body, const Config& config, RunForm form) {
  Fields fields(body);
  ExecuteOrder request;
  know_all(fields);
  auto session = COVE_TRY(fields.text("session"));
  request.mode = COVE_TRY(take_mode(fields));
  if (fields.raw("command") || fields.raw("entrypoint"))
    COVE_TRY(take_image_command(fields, request));
  else
    COVE_TRY(take_command(fields, config.languages, request.order));
  COVE_TRY(take_surroundings(fields, request.order.spec));
  COVE_TRY(take_pty(fields, request.order.spec));
  COVE_TRY(take_stdin(fields, request.order, SilentInput::Closed));
  request.files = COVE_TRY(take_files(fields));
  request.outputs = COVE_TRY(take_outputs(fields));
  if (session && session->empty()) return fail(fields.wrong("session", "is empty: name one, or leave it out"));
  if (session) {
    request.session = *session;
    COVE_TRY(refuse_with_session(fields));
    COVE_TRY(take_exec_limits(fields, request.order));
    request.order.secrets = COVE_TRY(fields.texts("secrets")).value_or(std::vector<std::string>());
  } else {
    COVE_TRY(take_place(fields, request, config));
  }
  COVE_TRY(take_user(fields, request));
  COVE_TRY(check_form(request, form));
  COVE_TRY(fields.finish());
  return request;
}

}  // namespace cove::api
