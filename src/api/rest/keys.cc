// Keys of the API.
#include "api/rest/auth.h"
#include "api/rest/call.h"
#include "api/rest/paging.h"
#include "api/rest/response_json.h"
#include "api/rest/values.h"
#include "base/text.h"

namespace cove::api {
namespace {

struct KeyRequest {
  std::string name;
  std::string project;
  Scopes scopes{Scope::Run};
  int64_t expires_ms = 0;
};

Result<KeyRequest> parse_key_request(const Json& body, const std::string& own_project) {
  Fields fields(body);
  KeyRequest request;
  request.name = COVE_TRY(fields.checked("name", check_name(COVE_TRY(required(fields, "name", fields.text("name"))))));
  request.project = COVE_TRY(fields.text("project")).value_or(own_project);
  if (auto names = COVE_TRY(fields.texts("scopes")))
    request.scopes = COVE_TRY(fields.checked("scopes", parse_scopes(*names)));
  if (auto time = COVE_TRY(fields.duration("expires"))) request.expires_ms = now_ms() + time->count();
  COVE_TRY(fields.finish());
  return request;
}

// Another project's things do not exist, but for who is at the Unix socket.
bool sees_project(const Call& call, const std::string& project) {
  return call.caller.local || project == call.caller.project;
}

EventDraft event_of(const Call& call, const std::string& kind, const KeyRecord& key) {
  Json data = {{"id", key.id}, {"name", key.name}, {"scopes", split(key.scopes, ',')}};
  return {.kind = kind, .project = key.project, .actor = call.caller.actor, .data = dump(data)};
}

Outcome create_key(Call& call) {
  Json body = COVE_TRY(call.body());
  KeyRequest request = COVE_TRY(parse_key_request(body, call.caller.project));
  if (!sees_project(call, request.project))
    return refuse(404, "not_found", concat("there is no project '", request.project, "'"));
  NewKey key = make_key();
  KeyRecord record{.id = key.id,
                   .name = request.name,
                   .project = request.project,
                   .scopes = request.scopes.text(),
                   .salt = key.salt,
                   .hash = key.hash,
                   .created_ms = now_ms(),
                   .expires_ms = request.expires_ms};
  EventDraft event = event_of(call, "key.created", record);
  COVE_TRY(call.engine().store().insert_key(record, {&event, 1}));
  Json document = key_json(record);
  document["key"] = key.text;
  return call.respond_secret(201, std::move(document), {"key"});
}

Outcome list_keys(Call& call) {
  std::vector<PageItem> keys;
  for (const KeyRecord& key : COVE_TRY(call.engine().store().list_keys(call.caller.project)))
    if (key.revoked_ms == 0) keys.push_back({key.id, dump(key_json(key))});
  return respond_page(call, keys);
}

Outcome revoke_key(Call& call) {
  const std::string& id = call.captured("key");
  Result<KeyRecord> key = call.engine().store().find_key(id);
  if (!key && key.error().code() != Code::NotFound) return refuse(key.error());
  if (!key || key->revoked_ms != 0 || !sees_project(call, key->project))
    return refuse(404, "not_found", concat("there is no key '", id, "'"));
  EventDraft event = event_of(call, "key.revoked", *key);
  COVE_TRY(call.engine().store().revoke_key(id, now_ms(), {&event, 1}));
  return call.no_content();
}

}  // namespace

void add_keys(Routes& routes) {
  routes.add("POST", "/v1/keys", kAdmin, create_key, {}, Conditions::Refused, Repeat::Once);
  routes.add("GET", "/v1/keys", kAdmin, list_keys, {"after", "limit"});
  routes.add("DELETE", "/v1/keys/{key}", kAdmin, revoke_key);
}

}  // namespace cove::api
