#include "net/gateway/http_answer.h"

#include "base/ascii.h"
#include "base/json.h"
#include "base/text.h"
#include "http1/status.h"
#include "net/gateway/http_flow.h"
#include "net/gateway/http_request.h"

namespace cove::net {
namespace {

std::string host_of(const Target& target) {
  if (!target.name.empty()) return target.name;
  return target.address ? to_text(*target.address) : "";
}

// As http://cove.internal/ takes it.
std::string how_to_ask(const Target& target) {
  return concat("ask for access: curl http://cove.internal/v1/requests -d '{\"host\": \"", host_of(target),
                "\", \"port\": ", target.port, ", \"reason\": \"WHY\"}'");
}

Json describe(const Target& target, std::string_view code, const std::string& why) {
  Json body = json_object({{"error", std::string(code)}, {"why", why}});
  if (const std::string host = host_of(target); !host.empty()) {
    body["host"] = host;
    body["port"] = target.port;
  }
  if (!target.method.empty()) body["method"] = target.method;
  if (!target.path.empty()) body["path"] = target.path;
  return body;
}

std::string write_answer(int status, const Json& body, AfterAnswer after, std::string_view method) {
  const std::string text = concat(body.dump(), "\n");
  http1::HeadWriter head(http1::status_line(status));
  head.add("Content-Type", "application/json");
  head.add("Content-Length", std::to_string(text.size()));
  head.add("Cache-Control", "no-store");
  if (after == AfterAnswer::Closed) head.add("Connection", "close");
  return concat(head.take(), method == "HEAD" ? "" : text);
}

bool is_dropped(const http1::ResponseHead& head, std::string_view name) {
  // Alt-Svc: another way to the server, that goes past us.
  return same_word(name, "alt-svc") || is_for_connection(head.headers, name);
}

}  // namespace

std::string forwarded_answer(const http1::ResponseHead& head, std::string_view status_line, AnswerForm form) {
  http1::HeadWriter writer(concat("HTTP/1.1", status_line.substr(8)));
  for (const auto& [name, value] : head.headers) {
    // A length that another tells twice goes on once.
    if (same_word(name, "content-length") && value.data() != http1::find_header(head.headers, name)->data()) continue;
    if (!is_dropped(head, name)) writer.add(name, value);
  }
  if (form.chunked) writer.add("Transfer-Encoding", "chunked");
  if (form.upgraded)
    writer.add("Upgrade", "websocket").add("Connection", "Upgrade");
  else if (!form.keeps_alive && head.status >= 200)
    writer.add("Connection", "close");
  return writer.take();
}

std::string own_answer(const OwnAnswer& answer, const Target& target, AfterAnswer after, std::string_view method) {
  Json body = describe(target, answer.code, answer.why);
  if (!answer.hint.empty()) body["hint"] = answer.hint;
  return write_answer(answer.status, body, after, method);
}

std::string denial_answer(const Verdict& verdict, const Target& target, AfterAnswer after) {
  Json body = describe(target, verdict.code.empty() ? "not_allowed" : verdict.code, verdict.why);
  if (!verdict.layer.empty()) body["layer"] = verdict.layer;
  if (!verdict.rule.empty()) body["rule"] = verdict.rule;
  if (verdict.rule.empty() && !target.name.empty()) body["rule_missing"] = concat(target.name, ":", target.port);
  body["hint"] = how_to_ask(target);
  return write_answer(403, body, after, target.method);
}

std::string denial_response(const Verdict& verdict, const Target& target) {
  return denial_answer(verdict, target, AfterAnswer::Closed);
}

}  // namespace cove::net
