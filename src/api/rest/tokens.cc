// Tokens for one sandbox, signed URLs for one file, and links to one preview.
#include "api/preview/headers.h"
#include "api/rest/auth.h"
#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "base/encoding.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::chrono::milliseconds kUsualTime = std::chrono::hours(1);

struct TokenRequest {
  std::optional<Scopes> scopes;
  std::optional<std::string> path;  // of a file
  std::string method = "GET";
  std::optional<uint16_t> port;  // of a preview
  std::chrono::milliseconds ttl = kUsualTime;
};

Result<void> take_file(Fields& fields, TokenRequest& request) {
  auto file = COVE_TRY(fields.object("file"));
  if (!file) return {};
  request.path = COVE_TRY(file->checked("path", check_path(COVE_TRY(required(*file, "path", file->text("path"))))));
  request.method = COVE_TRY(file->choice("method", {"GET", "PUT"})).value_or("GET");
  return file->finish();
}

Result<void> take_scopes(Fields& fields, TokenRequest& request) {
  auto names = COVE_TRY(fields.texts("scopes"));
  if (!names) return {};
  Scopes scopes = COVE_TRY(fields.checked("scopes", parse_scopes(*names)));
  if (!scopes.within(Scopes({Scope::Run}))) return fail(fields.wrong("scopes", "of a token can only be read and run"));
  request.scopes = scopes;
  return {};
}

Result<TokenRequest> parse_token_request(const Json& body) {
  Fields fields(body);
  TokenRequest request;
  COVE_TRY(take_scopes(fields, request));
  COVE_TRY(take_file(fields, request));
  if (auto port = COVE_TRY(fields.integer("port", 1, UINT16_MAX))) request.port = static_cast<uint16_t>(*port);
  request.ttl = COVE_TRY(fields.duration("ttl")).value_or(kUsualTime);
  COVE_TRY(fields.finish());
  if (request.scopes.has_value() + request.path.has_value() + request.port.has_value() != 1)
    return fail(Code::Invalid, "exactly one of 'scopes', 'file' and 'port' must be given");
  if (request.ttl.count() == 0) return fail(fields.wrong("ttl", "must be above zero"));
  return request;
}

// URLs have whole seconds.
int64_t round_up_to_second(int64_t milliseconds) { return (milliseconds + 999) / 1000 * 1000; }

std::string signed_url(const Api& api, const FileGrant& grant) {
  return concat("/v1/sandboxes/", grant.sandbox_id, "/files?path=", percent_encode(grant.path),
                "&expires=", grant.expires_ms / 1000, "&signature=", sign_file(api.secret, grant));
}

Outcome create_url(Call& call, const std::string& sandbox_id, const TokenRequest& request) {
  Scope needed = request.method == "GET" ? Scope::Read : Scope::Run;
  COVE_TRY(authorize(call, needed));
  FileGrant grant{request.method, sandbox_id, *request.path, "", round_up_to_second(now_ms() + request.ttl.count())};
  Json data = {{"path", grant.path}, {"method", grant.method}, {"expires_at", time_json(grant.expires_ms)}};
  call.engine().note(call.caller, "token.created", sandbox_id, "", dump(data));
  return call.respond_secret(
      201, Json{{"url", signed_url(call.api, grant)}, {"expires_at", time_json(grant.expires_ms)}}, {"url"});
}

Outcome create_token(Call& call, const std::string& sandbox_id, const TokenRequest& request) {
  if (!request.scopes->within(call.caller.scopes)) return denied("a token cannot have scopes that you do not have");
  SandboxToken token{sandbox_id, *request.scopes, now_ms() + request.ttl.count()};
  Json data = {{"scopes", token.scopes.names()}, {"expires_at", time_json(token.expires_ms)}};
  call.engine().note(call.caller, "token.created", sandbox_id, "", dump(data));
  return call.respond_secret(
      201, Json{{"token", make_token(call.api.secret, token)}, {"expires_at", time_json(token.expires_ms)}}, {"token"});
}

Outcome create_preview_link(Call& call, const engine::SandboxInfo& sandbox, const TokenRequest& request) {
  const std::string& id = sandbox.spec.id;
  auto rule = sandbox.ports.find(*request.port);
  PreviewToken token{id, *request.port, rule == sandbox.ports.end() ? 0 : rule->second.generation,
                     now_ms() + request.ttl.count()};
  Json data = {{"port", token.port}, {"expires_at", time_json(token.expires_ms)}};
  call.engine().note(call.caller, "token.created", id, "", dump(data));
  const std::string text = make_preview_token(call.api.secret, token);
  const PreviewSite& site = call.engine().config().preview.site;
  Json url;
  if (site.reachable()) url = concat(preview_url(site, {token.port, id}), "?", kTokenParameter, "=", text);
  return call.respond_secret(201, Json{{"token", text}, {"url", url}, {"expires_at", time_json(token.expires_ms)}},
                             {"token", "url"});
}

Outcome create(Call& call) {
  Json body = COVE_TRY(call.body());
  TokenRequest request = COVE_TRY(parse_token_request(body));
  engine::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  if (request.port) return create_preview_link(call, sandbox, request);
  const std::string& id = sandbox.spec.id;
  return request.scopes ? create_token(call, id, request) : create_url(call, id, request);
}

}  // namespace

void add_tokens(Routes& routes) {
  routes.add("POST", "/v1/sandboxes/{id}/tokens", kRun, create, {}, Conditions::Refused, Repeat::Once);
}

}  // namespace cove::api
