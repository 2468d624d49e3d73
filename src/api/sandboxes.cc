// Sandboxes: make, list, look at, change, delete.
#include <openssl/sha.h>

#include "api/auth.h"
#include "api/call.h"
#include "api/query.h"
#include "api/response_json.h"
#include "api/sandbox_request.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr size_t kLongestKey = 255;

// Of what a body says, however it is written.
std::string hash_of(const Json& body) {
  std::string text = body.dump();
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
  return to_hex(digest);
}

Checked<std::string> idempotency_key(const http::Request& request) {
  auto key = request.header("idempotency-key");
  if (!key) return std::string();
  if (key->empty() || key->size() > kLongestKey)
    return invalid(concat("the Idempotency-Key must have 1 to ", kLongestKey, " characters"));
  return std::string(*key);
}

// RFC 7240. Preferences that nobody knows are passed over.
bool prefers_brief(const http::Request& request) {
  auto preferences = request.header("prefer");
  return preferences && preferences->find("return=minimal") != std::string_view::npos;
}

Outcome create_sandbox(Call& call) {
  Json body = COVE_TRY(call.body());
  live::CreateOrder order = COVE_TRY(parse_create(body, call.engine().config()));
  order.idempotency_key = COVE_TRY(idempotency_key(call.request()));
  if (!order.idempotency_key.empty()) order.request_hash = hash_of(body);
  live::SandboxInfo sandbox = COVE_TRY(call.engine().create(call.caller, std::move(order)));
  http::Headers headers = {{"Location", concat("/v1/sandboxes/", sandbox.spec.id)}};
  if (!prefers_brief(call.request())) return call.respond(201, dump(sandbox_json(sandbox)), std::move(headers));
  headers.push_back({"Preference-Applied", "return=minimal"});
  return call.respond(201, dump(brief_sandbox_json(sandbox)), std::move(headers));
}

Checked<live::SandboxFilter> filter_of(const http::Request& request) {
  live::SandboxFilter filter;
  filter.name = text_parameter(request, "name");
  if (auto state = request.parameter("state")) {
    filter.state = live::parse_state(std::string(*state));
    if (!filter.state) return invalid(concat("'state': there is no state '", *state, "'"));
  }
  for (const auto& [name, value] : request.query) {
    if (name != "label") continue;
    size_t equals = value.find('=');
    if (equals == 0 || equals == std::string::npos) return invalid(concat("'label': write it as KEY=VALUE"));
    filter.labels[value.substr(0, equals)] = value.substr(equals + 1);
  }
  return filter;
}

Outcome list_sandboxes(Call& call) {
  live::SandboxFilter filter = COVE_TRY(filter_of(call.request()));
  size_t limit = COVE_TRY(limit_parameter(call.request()));
  auto page = COVE_TRY(call.engine().list(call.caller, filter, text_parameter(call.request(), "after"), limit));
  std::vector<std::string> items;
  for (const live::SandboxInfo& sandbox : page.items) items.push_back(dump(sandbox_json(sandbox)));
  return call.respond(200, page_json("sandboxes", items, page.next));
}

Outcome get_sandbox(Call& call) {
  return call.respond(200, dump(sandbox_json(COVE_TRY(call.engine().find(call.caller, call.sandbox())))));
}

Outcome update_sandbox(Call& call) {
  Json body = COVE_TRY(call.body());
  std::lock_guard turn(call.api.updates);
  live::SandboxInfo now = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  live::UpdateOrder order = COVE_TRY(parse_update(body, now));
  return call.respond(200, dump(sandbox_json(COVE_TRY(call.engine().update(call.caller, call.sandbox(), order)))));
}

Outcome delete_sandbox(Call& call) {
  COVE_TRY(call.engine().remove(call.caller, call.sandbox()));
  return call.no_content();
}

Outcome get_stats(Call& call) {
  live::SandboxInfo sandbox = COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  Stats stats = COVE_TRY(call.engine().stats(call.caller, call.sandbox()));
  return call.respond(200, dump(stats_json(stats, sandbox.spec.limits, now_ms())));
}

}  // namespace

void add_sandboxes(Routes& routes) {
  routes.add("POST", "/v1/sandboxes", kRun, create_sandbox);
  routes.add("GET", "/v1/sandboxes", kRead, list_sandboxes);
  routes.add("GET", "/v1/sandboxes/{id}", kTokenRead, get_sandbox);
  routes.add("PATCH", "/v1/sandboxes/{id}", kRun, update_sandbox);
  routes.add("DELETE", "/v1/sandboxes/{id}", kRun, delete_sandbox);
  routes.add("GET", "/v1/sandboxes/{id}/stats", kTokenRead, get_stats);
}

}  // namespace cove::api
