#include "api/rest/api.h"

#include "api/preview/face.h"
#include "api/rest/call.h"
#include "api/rest/problem.h"
#include "base/log.h"
#include "base/text.h"

namespace cove::api {
namespace {

constexpr const char* kTokenSecret = "tokens";

bool admit_local(Api& api, http::Exchange& exchange) {
  uint32_t uid = exchange.request().peer.uid;
  if (exchange.request().peer.local && (uid == 0 || uid == api.owner)) return true;
  log::warning("refused a stranger at the Unix socket", {{"uid", concat(uid)}});
  answer(exchange, Problem(403, "denied", "this server is another user's"));
  return false;
}

bool admit_preview(Api& api, http::Exchange& exchange) {
  if (!serve_preview(api, exchange)) refuse_other_hosts(api, exchange);
  return false;
}

bool admit_tcp(Api& api, http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  std::string_view host = request.header("host").value_or("");
  if (!api.hosts.allows_host(host)) {
    answer(exchange, Problem(403, "denied", concat("'", host, "' is not a name of this server"))
                         .advise("add it to the setting allowed_hosts"));
    return false;
  }
  auto origin = request.header("origin");
  if (!origin || !Hosts::needs_origin(request) || api.hosts.allows_origin(*origin, host)) return true;
  answer(exchange, Problem(403, "denied", concat("pages of '", *origin, "' may not use this server"))
                       .advise("add it to the setting allowed_origins"));
  return false;
}

void tell_problem(http::Exchange& exchange, int status, const std::string& reason,
                  const std::vector<std::string>& allowed) {
  Problem problem(status, std::string(code_of_status(status)), reason);
  if (status == 404) problem.detail = concat("there is nothing at ", exchange.request().path);
  if (!allowed.empty()) problem.headers.emplace_back("Allow", join(allowed, ", "));
  if (status == 500) log::error(reason, {{"path", exchange.request().path}, {"request", exchange.request().id}});
  answer(exchange, problem);
}

std::string who(const http::Peer& peer) { return peer.local ? concat("uid:", peer.uid) : peer.address; }

void note_done(Api& api, const http::Request& request, const http::Route* route, int status,
               std::chrono::nanoseconds took) {
  api.metrics.count(route ? route->method : "", route ? route->pattern : "", status, took);
  if (!log::shows(log::Level::Debug)) return;
  log::debug("request", {{"id", request.id},
                         {"from", who(request.peer)},
                         {"method", request.method},
                         {"path", request.path},
                         {"status", concat(status)},
                         {"us", concat(std::chrono::duration_cast<std::chrono::microseconds>(took).count())}});
}

}  // namespace

Result<std::unique_ptr<Api>> Api::create(engine::Engine& engine, uint32_t owner) {
  std::unique_ptr<Api> api(new Api(engine));
  api->owner = owner;
  api->service = engine::Service::open(engine);
  api->secret = COVE_TRY(engine.store().secret(kTokenSecret));
  return api;
}

std::shared_ptr<http::Router> make_router(Api& api) {
  auto router = std::make_shared<http::Router>();
  Routes routes(api, *router);
  for (auto add : {add_sandboxes,  add_lifecycle, add_tokens,   add_execs,    add_contexts, add_exec_input, add_attach,
                   add_sessions,   add_execute,   add_networks, add_files,    add_entries,  add_archive,    add_watch,
                   add_keys,       add_ports,     add_secrets,  add_projects, add_events,   add_usage,      add_images,
                   add_operations, add_languages, add_machine,  add_health,   add_metrics})
    add(routes);
  return router;
}

http::ListenerOptions listener_options(Api& api, Face face) {
  http::ListenerOptions options;
  options.gate = [&api, face](http::Exchange& exchange) {
    switch (face) {
      case Face::Local:
        return admit_local(api, exchange) && !serve_preview(api, exchange);
      case Face::Tcp:
        return !serve_preview(api, exchange) && admit_tcp(api, exchange);
      case Face::Preview:
        return admit_preview(api, exchange);
    }
    return false;
  };
  options.problem = tell_problem;
  options.done = [&api](const http::Request& request, const http::Route* route, int status,
                        std::chrono::nanoseconds took) { note_done(api, request, route, status, took); };
  return options;
}

}  // namespace cove::api
