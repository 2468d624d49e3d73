#include "api/rest/auth.h"

#include <chrono>

#include "base/ascii.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr std::string_view kProjectHeader = "cove-project";

std::unexpected<Problem> unauthorized(std::string detail, std::string hint = "") {
  return refuse(Problem(401, "unauthorized", std::move(detail))
                    .advise(std::move(hint))
                    .header("WWW-Authenticate", "Bearer realm=\"cove\""));
}

// The key or token that the request shows; empty where there is none.
Checked<std::string> shown_secret(const http::Request& request, Admits admits) {
  constexpr std::string_view kScheme = "bearer ";
  if (auto header = request.header("authorization")) {
    if (!same_word(header->substr(0, kScheme.size()), kScheme))
      return unauthorized("the Authorization header is not a Bearer one");
    return std::string(trim(header->substr(kScheme.size())));
  }
  if (auto key = request.header("x-api-key")) return std::string(trim(*key));
  auto token = admits == Admits::Keys ? std::nullopt : request.parameter("token");
  if (!token) return std::string();
  // Addresses are logged, kept and passed on: what is in one must be for a short time and one sandbox.
  if (token->starts_with(kTokenPrefix)) return std::string(*token);
  return unauthorized("'token' is not a sandbox's token: a key cannot be given in the address",
                      "send the key as a header: Authorization: Bearer cove_…");
}

Checked<Caller> caller_of_key(Api& api, const http::Request& request, const std::string& text) {
  auto check = [&]() -> Result<Caller> {
    std::string id = COVE_TRY(key_id(text));
    Result<KeyRecord> record = api.engine.store().find_key(id);
    if (!record && record.error().code() == Code::NotFound) return fail(wrong_key());
    KeyRecord key = COVE_TRY(std::move(record));
    Caller caller;
    caller.scopes = COVE_TRY(check_key(key, text, now_ms()));
    caller.actor = concat("key:", id);
    caller.project = key.project;
    return caller;
  };
  Result<Caller> caller = check();
  if (!caller && caller.error().code() == Code::Denied) return unauthorized(caller.error().message());
  if (!caller) return refuse(caller.error());
  auto project = request.header(kProjectHeader);
  if (project && *project != caller->project)
    return denied(concat("this key belongs to the project ", caller->project));
  return std::move(*caller);
}

// A caller who sees nothing but one sandbox.
Checked<Caller> caller_for_sandbox(Api& api, const std::string& id, const Scopes& scopes, std::string actor) {
  Result<SandboxRecord> sandbox = api.engine.store().find_sandbox("", id);
  if (!sandbox || sandbox->id != id) return unauthorized("the sandbox of these credentials is gone");
  Caller caller;
  caller.actor = std::move(actor);
  caller.project = sandbox->project;
  caller.scopes = scopes;
  caller.only_sandbox = id;
  return caller;
}

Checked<Caller> caller_of_token(Api& api, const std::string& text, Admits admits) {
  Result<SandboxToken> token = check_token(api.secret, text, now_ms());
  if (!token) return unauthorized(token.error().message());
  if (admits == Admits::Keys) return denied("a sandbox's token is not enough for this");
  return caller_for_sandbox(api, token->sandbox_id, token->scopes, concat("token:", token->sandbox_id));
}

Checked<Caller> caller_of_signature(Api& api, const http::Request& request) {
  FileGrant grant;
  grant.method = request.method == "HEAD" ? "GET" : request.method;
  auto id = request.captures.find("id");
  if (id != request.captures.end()) grant.sandbox_id = id->second;
  grant.path = request.parameter("path").value_or("");
  grant.user = request.parameter("user").value_or("");
  constexpr int64_t kLast = INT64_MAX / 1000;
  auto expires = parse_integer(request.parameter("expires").value_or(""), 0, kLast);
  if (!expires) return denied("the signed URL is not whole");
  grant.expires_ms = *expires * 1000;
  COVE_TRY(check_file_signature(api.secret, grant, *request.parameter("signature"), now_ms()));
  Scopes scopes({grant.method == "GET" ? Scope::Read : Scope::Run});
  return caller_for_sandbox(api, grant.sandbox_id, scopes, concat("url:", grant.sandbox_id));
}

// A sandbox that was shown the socket, in a folder, has it from a caller whose user id it may have.
Checked<Caller> caller_at_socket(Api& api, http::Exchange& exchange) {
  if (exchange.request().peer.nested)
    return denied("the Unix socket is not for programs in a sandbox or a container: use TCP and an API key");
  Caller caller;
  caller.actor = concat("uid:", exchange.request().peer.uid);
  caller.local = true;
  caller.scopes = Scopes({Scope::Admin});
  caller.connection = exchange.connection();
  auto project = exchange.request().header(kProjectHeader);
  if (!project || *project == kDefaultProject) return caller;
  caller.project = COVE_TRY(api.engine.store().find_project(std::string(*project))).id;
  return caller;
}

}  // namespace

int64_t now_ms() {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Checked<Caller> authenticate(Api& api, http::Exchange& exchange, Admits admits) {
  const http::Request& request = exchange.request();
  if (admits == Admits::Signatures && request.parameter("signature")) return caller_of_signature(api, request);
  Checked<std::string> secret = shown_secret(request, admits);
  if (!secret) return refuse(std::move(secret).error());
  if (secret->starts_with(kTokenPrefix)) return caller_of_token(api, *secret, admits);
  if (!secret->empty()) return caller_of_key(api, request, *secret);
  if (request.peer.local) return caller_at_socket(api, exchange);
  return unauthorized("credentials are needed here",
                      "send an API key: Authorization: Bearer cove_…; the command line takes it from COVE_API_KEY");
}

Outcome authorize(Call& call, Scope scope) {
  if (call.caller.scopes.allow(scope)) return {};
  Json data = {{"method", call.request().method}, {"path", call.request().path}, {"needs", scope_name(scope)}};
  call.engine().note(call.caller, "request.refused", call.caller.only_sandbox, "", data.dump());
  return denied(concat("this needs the scope '", std::string_view(scope_name(scope)), "'"));
}

Outcome require_local(const Call& call) {
  if (call.caller.local) return {};
  return denied("this can only be done at the server's Unix socket");
}

}  // namespace cove::api
