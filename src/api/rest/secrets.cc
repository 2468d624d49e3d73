// Secrets: set, list, remove. Values come in and never go out.
#include <algorithm>

#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/values.h"
#include "base/ascii.h"
#include "base/text.h"
#include "secret/mask.h"

namespace cove::api {
namespace {

struct SecretRequest {
  SecretInfo info;
  std::string value;
};

// Whose it is: the caller's project, or one agent in it.
Result<void> take_owner(Fields& fields, const std::string& own_project, SecretInfo& info) {
  auto scope = COVE_TRY(fields.object("scope"));
  if (!scope) return {};
  auto project = COVE_TRY(scope->text("project"));
  if (project && *project != own_project)
    return fail(scope->wrong("project", concat("is not the caller's own, '", own_project, "'")));
  if (auto agent = COVE_TRY(scope->text("agent")))
    info.agent = COVE_TRY(scope->checked("agent", check_agent(std::move(*agent))));
  return scope->finish();
}

Result<SecretRequest> parse_secret(const Json& body, const std::string& own_project) {
  Fields fields(body);
  SecretRequest request;
  request.info.name = COVE_TRY(required(fields, "name", fields.text("name")));
  request.value = COVE_TRY(required(fields, "value", fields.data("value")));
  auto use = COVE_TRY(fields.choice("use", {"env", "brokered"}));
  if (use) request.info.use = *parse_secret_use(*use);
  request.info.hosts = COVE_TRY(fields.texts("hosts")).value_or(std::vector<std::string>());
  if (auto header = COVE_TRY(fields.text("header"))) request.info.places = {lower(*header)};
  COVE_TRY(take_owner(fields, own_project, request.info));
  COVE_TRY(fields.finish());
  return request;
}

// What is not as safe as it may seem.
std::vector<std::string> warnings_about(const SecretInfo& info, size_t size) {
  if (info.use == SecretUse::Env && size < kLeastMasked)
    return {concat("a value of less than ", kLeastMasked, " bytes is not masked in output")};
  return {};
}

Outcome set_secret(Call& call) {
  Json body = COVE_TRY(call.body());
  SecretRequest request = COVE_TRY(parse_secret(body, call.caller.project));
  const size_t size = request.value.size();
  SecretInfo made =
      COVE_TRY(call.engine().secrets().set(call.caller, std::move(request.info), std::move(request.value)));
  Json document = secret_json(made);
  document["warnings"] = warnings_about(made, size);
  return call.respond(200, dump(document));
}

Outcome list_secrets(Call& call) {
  std::vector<PageItem> secrets;
  const std::string agent = text_parameter(call.request(), "agent");
  for (const SecretInfo& info : COVE_TRY(call.engine().secrets().list(call.caller, agent)))
    secrets.push_back({concat(info.agent, "/", info.name), dump(secret_json(info))});
  return respond_page(call, secrets);
}

Outcome remove_secret(Call& call) {
  COVE_TRY(
      call.engine().secrets().remove(call.caller, text_parameter(call.request(), "agent"), call.captured("secret")));
  return call.no_content();
}

Outcome rotate_key(Call& call) {
  COVE_TRY(call.engine().secrets().rotate(call.caller));
  return call.no_content();
}

}  // namespace

// Setting one again changes nothing: it takes no Idempotency-Key, and nothing is kept of the request.
void add_secrets(Routes& routes) {
  routes.add("POST", "/v1/secrets", kSecrets, set_secret);
  routes.add("GET", "/v1/secrets", kSecrets, list_secrets, {"after", "limit", "agent"});
  routes.add("DELETE", "/v1/secrets/{secret}", kSecrets, remove_secret, {"agent"});
  routes.add("DELETE", "/v1/secrets-key", kAdmin, rotate_key);
}

}  // namespace cove::api
