#include "api/rest/call.h"

#include "api/rest/auth.h"
#include "api/rest/query.h"
#include "base/log.h"
#include "base/text.h"

namespace cove::api {
namespace {

// Tells the problem, where the answer has not begun yet; a stream that has is broken off.
void tell(Api& api, http::Exchange& exchange, Problem problem) {
  if (problem.status >= 500 && problem.status != 501)
    log::error(
        problem.detail,
        {{"method", exchange.request().method}, {"path", exchange.request().path}, {"request", exchange.request().id}});
  if (exchange.begun()) return;
  if (problem.status == 429) problem.headers.emplace_back("Retry-After", concat(api.engine.retry_after().count()));
  answer(exchange, problem);
}

// What a route is, beside its path.
struct Way {
  Door door;
  Handle handle;
  std::vector<std::string_view> query;
  Conditions conditions;
  Repeat repeat;
};

// Parameters that credentials may come in.
std::vector<std::string_view> with_credentials(std::vector<std::string_view> query, Admits admits) {
  if (admits != Admits::Keys) query.push_back("token");
  if (admits == Admits::Signatures) query.insert(query.end(), {"expires", "signature"});
  return query;
}

// To pass over a condition would be to do what the caller did not want to be done.
Outcome check_conditions(const http::Request& request, Conditions conditions) {
  if (conditions == Conditions::Honoured) return {};
  for (const char* name : {"If-Match", "If-None-Match"})
    if (request.header(name))
      return invalid(
          concat("the header ", std::string_view(name), " is not supported here: ", request.path, " has no ETag"));
  return {};
}

Outcome serve(Api& api, http::Exchange& exchange, const Way& way) {
  const Door& door = way.door;
  Call call(api, exchange, COVE_TRY(authenticate(api, exchange, door.admits)));
  exchange.vouch();
  call.caller.peer = exchange.connection();
  COVE_TRY(authorize(call, door.scope));
  COVE_TRY(check_query(exchange.request(), way.query));
  COVE_TRY(check_conditions(exchange.request(), way.conditions));
  return way.repeat == Repeat::Again ? way.handle(call) : answer_once(call, way.repeat, way.handle);
}

}  // namespace

const std::string& Call::captured(const std::string& name) const {
  static const std::string kNone;
  auto found = request().captures.find(name);
  return found == request().captures.end() ? kNone : found->second;
}

Checked<Json> Call::body() {
  if (body_) return *body_;
  Result<std::string> text = exchange.read_all(engine().config().max_body);
  if (!text) return refuse(body_problem(text.error()));
  body_ = COVE_TRY(parse_object(*text));
  return *body_;
}

Checked<Call::Received> Call::upload() {
  if (!upload_) upload_ = COVE_TRY(receive_upload(*this));
  return Received{upload_->file.get(), upload_->digest};
}

Checked<UniqueFd> Call::take_upload() {
  COVE_TRY(upload());
  return std::move(upload_->file);
}

Outcome Call::respond(int status, std::string_view json, http::Headers headers) {
  if (once) COVE_TRY(once->keep(status, headers, json));
  return send(status, json, std::move(headers));
}

Outcome Call::respond_secret(int status, Json document, std::initializer_list<const char*> secrets) {
  const http::Headers headers = {{"Cache-Control", "no-store"}};
  const std::string whole = document.dump();
  for (const char* name : secrets)
    if (document.contains(name)) document[name] = nullptr;
  if (once) COVE_TRY(once->keep(status, headers, document.dump()));
  return send(status, whole, headers);
}

Outcome Call::send(int status, std::string_view json, http::Headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Cove-Version", COVE_VERSION);
  COVE_TRY(exchange.respond(status, headers, json));
  return {};
}

Outcome Call::no_content() {
  COVE_TRY(exchange.respond(204, {}, ""));
  return {};
}

void Routes::add(const char* method, const char* pattern, Door door, Handle handle,
                 std::initializer_list<std::string_view> query, Conditions conditions, Repeat repeat) {
  Way way{door, handle, with_credentials(query, door.admits), conditions, repeat};
  router_.add({.method = method,
               .pattern = pattern,
               .handler =
                   [&api = api_, way = std::move(way)](http::Exchange& exchange) {
                     Outcome outcome = serve(api, exchange, way);
                     if (!outcome) tell(api, exchange, std::move(outcome).error());
                   },
               .host = "",
               .header = "",
               .header_value = ""});
}

void Routes::add_open(const char* method, const char* pattern, Outcome (*handle)(Api&, http::Exchange&)) {
  router_.add({.method = method,
               .pattern = pattern,
               .handler =
                   [&api = api_, handle](http::Exchange& exchange) {
                     Outcome outcome = handle(api, exchange);
                     if (!outcome) tell(api, exchange, std::move(outcome).error());
                   },
               .host = "",
               .header = "",
               .header_value = ""});
}

}  // namespace cove::api
