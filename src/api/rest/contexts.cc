// Contexts: stateful interpreters; what runs in them is in context_code.cc.
#include <algorithm>

#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/response_json.h"
#include "api/rest/sandbox_request.h"
#include "base/text.h"
#include "model/json.h"

namespace cove::api {
namespace {

using engine::ContextInfo;

Json context_json(const ContextInfo& context) {
  return {{"id", context.id},
          {"sandbox_id", context.sandbox_id},
          {"language", context.language},
          {"version", text_or_null(context.used ? context.used->version : "")},
          {"note", text_or_null(context.used ? context.used->note : "")},
          {"name", text_or_null(context.name)},
          {"cwd", text_or_null(context.cwd)},
          {"created_at", time_json(context.created_ms)},
          {"busy", context.busy}};
}

constexpr size_t kLongestName = 64;

// With a name that somebody gives to a context; nothing where it can be had.
std::string what_is_wrong(const std::string& name) {
  auto is_control = [](char sign) { return static_cast<unsigned char>(sign) < ' ' || sign == 0x7f; };
  auto begins = [](char sign) { return (static_cast<unsigned char>(sign) & 0xc0) != 0x80; };
  if (name.contains('/') || std::ranges::any_of(name, is_control)) return "has no slash and no control characters";
  if (static_cast<size_t>(std::ranges::count_if(name, begins)) > kLongestName)
    return concat("has at most ", kLongestName, " characters");
  if (name == engine::kDefaultContext || name.starts_with(engine::kDefaultContexts))
    return concat("must be another: '", name, "' is a default context, which is made when it is first used");
  return "";
}

Result<engine::ContextOrder> parse_order(const Json& body) {
  Fields fields(body);
  engine::ContextOrder order;
  order.language = COVE_TRY(fields.text("language")).value_or(engine::kUsualLanguage);
  order.name = COVE_TRY(fields.text("name")).value_or("");
  if (std::string wrong = what_is_wrong(order.name); !wrong.empty()) return fail(fields.wrong("name", wrong));
  order.cwd = COVE_TRY(fields.text("cwd")).value_or("");
  if (!order.cwd.empty() && !order.cwd.starts_with('/')) return fail(fields.wrong("cwd", "must be an absolute path"));
  order.env = COVE_TRY(take_environment(fields, "env"));
  order.user = COVE_TRY(fields.text("user")).value_or("");
  COVE_TRY(fields.finish());
  return order;
}

Outcome create_context(Call& call) {
  engine::ContextOrder order = COVE_TRY(parse_order(COVE_TRY(call.body())));
  ContextInfo made = COVE_TRY(call.service().contexts().create(call.caller, call.sandbox(), order));
  return call.respond(201, dump(context_json(made)),
                      {{"Location", concat("/v1/sandboxes/", made.sandbox_id, "/contexts/", made.id)}});
}

Outcome list_contexts(Call& call) {
  std::vector<PageItem> contexts;
  for (const ContextInfo& context : COVE_TRY(call.service().contexts().list(call.caller, call.sandbox())))
    contexts.push_back({context.id, dump(context_json(context))});
  return respond_page(call, contexts);
}

// Of the request's path; `default` is the one of the usual language.
std::string context_of(const Call& call) {
  const std::string& context = call.captured("context");
  return context == engine::kDefaultContext ? concat(engine::kDefaultContexts, engine::kUsualLanguage) : context;
}

Outcome get_context(Call& call) {
  return call.respond(
      200, dump(context_json(COVE_TRY(call.service().contexts().find(call.caller, call.sandbox(), context_of(call))))));
}

Outcome delete_context(Call& call) {
  COVE_TRY(call.service().contexts().remove(call.caller, call.sandbox(), context_of(call)));
  return call.no_content();
}

Outcome restart_context(Call& call) {
  ContextInfo made = COVE_TRY(call.service().contexts().restart(call.caller, call.sandbox(), context_of(call)));
  return call.respond(200, dump(context_json(made)));
}

Outcome interrupt_context(Call& call) {
  COVE_TRY(call.service().contexts().interrupt(call.caller, call.sandbox(), context_of(call)));
  return call.no_content();
}

}  // namespace

void add_contexts(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/contexts", kTokenRun, create_context, {}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/sandboxes/{id}/contexts", kTokenRead, list_contexts, {"after", "limit"});
  routes.add("GET", "/v1/sandboxes/{id}/contexts/{context}", kTokenRead, get_context);
  routes.add("DELETE", "/v1/sandboxes/{id}/contexts/{context}", kTokenRun, delete_context);
  routes.add("POST", "/v1/sandboxes/{id}/contexts/{context}/restart", kTokenRun, restart_context);
  routes.add("POST", "/v1/sandboxes/{id}/contexts/{context}/interrupt", kTokenRun, interrupt_context);
}

}  // namespace cove::api
