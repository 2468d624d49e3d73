// The ports at which a sandbox's processes listen, who may see what is there, and connections to them.
#include <map>

#include "api/rest/call.h"
#include "api/rest/query.h"
#include "api/rest/response_json.h"
#include "api/rest/sse.h"
#include "base/text.h"
#include "http1/head.h"

namespace cove::api {
namespace {

using engine::ListeningPort;
using engine::PortAccess;
using engine::PortRule;

constexpr std::chrono::milliseconds kLook{1000};
constexpr const char* kProtocol = "tcp";  // of a connection that is switched to it

Checked<uint16_t> captured_port(const Call& call) {
  Result<int64_t> port = parse_integer(call.captured("port"), 1, UINT16_MAX);
  if (!port) return invalid(concat("'", call.captured("port"), "' is not a port: 1 to 65535"));
  return static_cast<uint16_t>(*port);
}

Json url_json(Call& call, const std::string& sandbox, uint16_t port) {
  const PreviewSite& site = call.engine().config().preview.site;
  return site.reachable() ? Json(preview_url(site, {port, sandbox})) : Json();
}

Json port_json(Call& call, const std::string& sandbox, const ListeningPort& port) {
  Json process;
  if (port.pid != 0) process = Json{{"pid", port.pid}, {"name", port.name}, {"command", port.command}};
  return {{"port", port.port},
          {"address", port.address},
          {"protocol", kProtocol},
          {"process", std::move(process)},
          {"access", port_access_name(port.rule.access)},
          {"url", url_json(call, sandbox, port.port)}};
}

Outcome list(Call& call, const std::string& sandbox) {
  std::vector<std::string> items;
  for (const ListeningPort& port : COVE_TRY(call.engine().ports(call.caller, sandbox)))
    items.push_back(dump(port_json(call, sandbox, port)));
  return call.respond(200, page_json(items, ""));
}

using Known = std::map<uint16_t, std::string>;

std::string changes(const Known& before, const Known& now) {
  std::string text;
  for (const auto& [port, json] : before)
    if (!now.contains(port)) text += sse_event(std::nullopt, "closed", json);
  for (const auto& [port, json] : now) {
    auto known = before.find(port);
    if (known == before.end() || known->second != json) text += sse_event(std::nullopt, "open", json);
  }
  return text;
}

// Looks once a second while the caller listens; the sandbox tells of nothing by itself.
Outcome follow(Call& call, const std::string& sandbox) {
  Known known;
  EventStream stream(call.exchange);
  for (bool begun = false;; begun = true) {
    Known now;
    for (const ListeningPort& port : COVE_TRY(call.engine().ports(call.caller, sandbox)))
      now[port.port] = dump(port_json(call, sandbox, port));
    if (!begun) COVE_TRY(stream.begin());
    std::string text = changes(known, now);
    if (!text.empty()) COVE_TRY(stream.send(text));
    known = std::move(now);
    EventStream::Wake wake = stream.wait(-1, kLook);
    if (wake == EventStream::Wake::Gone || wake == EventStream::Wake::Stopping) return {};
  }
}

Outcome get_ports(Call& call) {
  const std::string id = COVE_TRY(call.engine().find(call.caller, call.sandbox())).spec.id;
  return accepts(call.request(), kEventStream) ? follow(call, id) : list(call, id);
}

Outcome update_port(Call& call) {
  const uint16_t port = COVE_TRY(captured_port(call));
  Json body = COVE_TRY(call.body());
  Fields fields(body);
  std::string name = COVE_TRY(required(fields, "access", fields.choice("access", {"private", "token", "public"})));
  COVE_TRY(fields.finish());
  const std::string id = COVE_TRY(call.engine().find(call.caller, call.sandbox())).spec.id;
  const PortRule rule =
      COVE_TRY(call.engine().set_port_access(call.caller, id, port, *engine::parse_port_access(name)));
  return call.respond(
      200, dump({{"port", port}, {"access", port_access_name(rule.access)}, {"url", url_json(call, id, port)}}));
}

// For `cove forward` and other programs that speak something other than HTTP with what is inside.
Outcome connect(Call& call) {
  const uint16_t port = COVE_TRY(captured_port(call));
  const http::Headers& headers = call.request().headers;
  COVE_TRY(call.engine().find(call.caller, call.sandbox()));
  if (!http1::any_lists_word(headers, "connection", "upgrade") || !http1::any_lists_word(headers, "upgrade", kProtocol))
    return refuse(Problem(400, "invalid", "this is a connection that is switched to bytes")
                      .advise("send Connection: Upgrade and Upgrade: tcp"));
  auto connection = COVE_TRY(call.engine().connect(call.caller, call.sandbox(), port));
  auto tunnel = COVE_TRY(call.exchange.switch_protocols({{"Upgrade", kProtocol}}));
  tunnel->relay(connection.socket.get());
  return {};
}

}  // namespace

void add_ports(Routes& routes) {
  routes.add("GET", "/v1/sandboxes/{id}/ports", kTokenRead, get_ports);
  routes.add("PATCH", "/v1/sandboxes/{id}/ports/{port}", kRun, update_port);
  routes.add("GET", "/v1/sandboxes/{id}/ports/{port}/connect", kTokenRun, connect);
}

}  // namespace cove::api
