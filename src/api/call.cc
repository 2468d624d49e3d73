#include "api/call.h"

#include "api/auth.h"
#include "base/log.h"
#include "base/text.h"

namespace cove::api {
namespace {

// Tells the problem, where the answer has not begun yet; a stream that has is broken off.
void tell(Api& api, http::Exchange& exchange, Problem problem) {
  if (problem.status >= 500 && problem.status != 501)
    log::error(problem.detail, {{"method", exchange.request().method}, {"path", exchange.request().path}});
  if (exchange.begun()) return;
  if (problem.status == 429) problem.headers.emplace_back("Retry-After", concat(api.engine.retry_after().count()));
  answer(exchange, problem);
}

Outcome serve(Api& api, http::Exchange& exchange, Door door, Handle handle) {
  Call call{api, exchange, COVE_TRY(authenticate(api, exchange, door.admits))};
  call.caller.peer = exchange.connection();
  COVE_TRY(authorize(call, door.scope));
  return handle(call);
}

}  // namespace

const std::string& Call::captured(const std::string& name) const {
  static const std::string kNone;
  auto found = request().captures.find(name);
  return found == request().captures.end() ? kNone : found->second;
}

Checked<Json> Call::body() {
  Result<std::string> text = exchange.read_all(engine().config().max_body);
  if (!text) return refuse(body_problem(text.error()));
  return COVE_TRY(parse_object(*text));
}

Outcome Call::respond(int status, std::string_view json, http::Headers headers) {
  headers.emplace_back("Content-Type", "application/json");
  headers.emplace_back("Cove-Version", COVE_VERSION);
  COVE_TRY(exchange.respond(status, headers, json));
  return {};
}

Outcome Call::no_content() {
  COVE_TRY(exchange.respond(204, {}, ""));
  return {};
}

void Routes::add(const char* method, const char* pattern, Door door, Handle handle) {
  router_.add({.method = method,
               .pattern = pattern,
               .handler =
                   [&api = api_, door, handle](http::Exchange& exchange) {
                     Outcome outcome = serve(api, exchange, door, handle);
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
