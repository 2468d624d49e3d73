#include "net/gateway/internal_answer.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"
#include "http1/head.h"
#include "http1/percent.h"
#include "http1/status.h"
#include "net/gateway/proxy_target.h"

namespace cove::net {
namespace {

constexpr size_t kLongestReason = 500;
constexpr const char* kHowToAsk =
    "curl http://cove.internal/v1/requests -d '{\"host\": \"HOST\", \"port\": 443, \"reason\": \"WHY\"}'";

std::string response(int status, std::string_view type, std::string_view body) {
  http1::HeadWriter head(http1::status_line(status));
  head.add("Content-Type", type).add("Content-Length", concat(body.size()));
  head.add("Cache-Control", "no-store").add("Connection", "close");
  return head.take() + std::string(body);
}
std::string json_response(int status, const Json& body) {
  return response(status, "application/json", body.dump(2) + "\n");
}
std::string error(int status, std::string_view why, std::string_view hint = "") {
  Json body = json_object({{"error", std::string(why)}});
  if (!hint.empty()) body["hint"] = std::string(hint);
  return json_response(status, body);
}

// --- what is shown ---------------------------------------------------------------------------------------------------

Json policy_json(const SandboxContext& context) {
  const CompiledPolicy& rules = context.rules();
  Json layers = Json::array();
  for (const auto& layer : context.policy().layers)
    layers.push_back(json_object({{"name", layer.name},
                                  {"tier", tier_name(layer.policy.tier)},
                                  {"enabled", layer.policy.enabled},
                                  {"allow", layer.policy.allow},
                                  {"block", layer.policy.block}}));
  Json secrets = Json::array();
  for (const auto& secret : context.policy().secrets)
    secrets.push_back(json_object({{"name", secret.name}, {"hosts", secret.hosts}}));
  return json_object(
      {{"version", context.policy().version},
       {"tier", tier_name(rules.tier())},
       {"network", rules.has_network()},
       {"learn", context.policy().learn},
       {"layers", std::move(layers)},
       {"budget", json_object({{"bytes", rules.budget().bytes}, {"connections", rules.budget().connections}})},
       {"brokered_secrets", std::move(secrets)}});
}

Json denial_json(const NetworkEntry& entry) {
  return json_object({{"time", format_time(entry.time_ms)},
                      {"protocol", protocol_name(entry.protocol)},
                      {"host", entry.host},
                      {"port", entry.port},
                      {"method", entry.method},
                      {"path", entry.path.substr(0, entry.path.find('?'))},
                      {"why", entry.why},
                      {"code", entry.code}});
}

// The newest first.
Json denials_json(const SandboxContext& context, size_t last) {
  Json denials = Json::array();
  const auto& recent = context.recent_denials();
  for (auto entry = recent.rbegin(); entry != recent.rend() && last > 0; ++entry, --last)
    denials.push_back(denial_json(*entry));
  return denials;
}

std::string listed(const std::vector<std::string>& rules) { return rules.empty() ? "nothing" : join(rules, ", "); }

std::string policy_text(const SandboxContext& context) {
  const CompiledPolicy& rules = context.rules();
  std::string text = concat("The network of this sandbox: tier ", tier_name(rules.tier()), "\n");
  if (context.policy().learn) text += "It records what is reached; what no rule names is allowed for now.\n";
  if (rules.is_full()) text += "Every public host can be reached, except what is blocked.\n";
  if (!rules.has_network()) text += "Nothing can be reached.\n";
  for (const auto& layer : context.policy().layers) {
    bool says_something = !layer.policy.allow.empty() || !layer.policy.block.empty();
    bool decides = layer.role == PolicyLayer::Role::Own && !rules.is_full();
    if (!says_something && !decides) continue;
    text += concat("\n", layer.name, "\n  allows  ", listed(layer.policy.allow), "\n");
    if (!layer.policy.block.empty()) text += concat("  blocks  ", listed(layer.policy.block), "\n");
  }
  return text;
}

std::string denials_text(const SandboxContext& context) {
  constexpr int kShown = 10;
  const auto& recent = context.recent_denials();
  std::string text = recent.empty() ? "\nNothing was denied.\n" : "\nDenied recently, the last one first\n";
  int left = kShown;
  for (auto entry = recent.rbegin(); entry != recent.rend() && left > 0; ++entry, --left) {
    text += concat("  ", format_time(entry->time_ms), "  ", entry->host);
    if (entry->port != 0) text += concat(":", entry->port);
    text += concat("  ", entry->why, "\n");
  }
  return text;
}

std::string front_page(const SandboxContext& context, const InternalRequest& request) {
  constexpr size_t kShown = 10;
  if (lists_word(request.accept, "application/json"))
    return json_response(
        200, json_object(
                 {{"policy", policy_json(context)}, {"denials", denials_json(context, kShown)}, {"ask", kHowToAsk}}));
  std::string text = policy_text(context) + denials_text(context);
  text += concat("\nTo ask for access: ", kHowToAsk, "\nIn JSON: /v1/policy, /v1/denials?last=10\n");
  return response(200, "text/plain; charset=utf-8", text);
}

std::string denials_page(const SandboxContext& context, std::string_view query) {
  size_t last = kRecentDenials;
  auto values = http1::parse_query(query);
  if (!values) return error(400, "the query is malformed");
  for (const auto& [name, value] : *values) {
    if (name != "last") return error(400, concat("unknown parameter: ", name));
    auto number = parse_integer(value, 1, 1'000'000);
    if (!number) return error(400, number.error().message());
    last = static_cast<size_t>(*number);
  }
  return json_response(200, json_object({{"denials", denials_json(context, last)}}));
}

// --- requests for access ---------------------------------------------------------------------------------------------

struct Wish {
  std::string host;
  uint16_t port = 0;
  std::string reason;
};

Result<Wish> parse_wish(std::string_view body, NameTable& names) {
  constexpr int kDeepest = 4;
  Json json = COVE_TRY_NOTE("the request's body", Json::parse_strict(body, kDeepest));
  if (!json.is_object()) return fail(Code::Invalid, "the request's body must be an object");
  for (const auto& member : json.items())
    if (member.name != "host" && member.name != "port" && member.name != "reason")
      return fail(Code::Invalid, concat("unknown field: ", member.name));
  const Json *host = json.find("host"), *port = json.find("port"), *reason = json.find("reason");
  if (!host || !host->is_string()) return fail(Code::Invalid, "host must be a string");
  if (port && (!port->is_number_unsigned() || port->as_uint64() < 1 || port->as_uint64() > UINT16_MAX))
    return fail(Code::Invalid, "port must be a number from 1 to 65535");
  if (reason && (!reason->is_string() || reason->as_string().size() > kLongestReason || !is_utf8(reason->as_string())))
    return fail(Code::Invalid, concat("reason must be a string of at most ", kLongestReason, " bytes"));
  auto number = static_cast<uint16_t>(port ? port->as_uint64() : 443);
  Target target = COVE_TRY(proxy_target(host->as_string(), number, names));
  return Wish{target.name.empty() ? to_text(*target.address) : target.name, number, reason ? reason->as_string() : ""};
}

}  // namespace

std::string refused_request(int status, std::string_view why) { return error(status, why); }

std::string InternalAnswers::answer(SandboxContext& context, const InternalRequest& request) {
  std::string_view target = request.target;
  constexpr std::string_view kAbsolute = "http://";
  if (target.starts_with(kAbsolute)) target.remove_prefix(std::min(target.find('/', kAbsolute.size()), target.size()));
  std::string_view path = target.substr(0, target.find('?'));
  std::string_view query = path.size() < target.size() ? target.substr(path.size() + 1) : "";
  if (path == "/v1/requests")
    return request.method == "POST" ? ask(context, request) : error(405, "use POST", kHowToAsk);
  bool is_known = path.empty() || path == "/" || path == "/v1/policy" || path == "/v1/denials";
  if (!is_known) return error(404, "no such page", "see http://cove.internal/");
  if (request.method != "GET") return error(405, "use GET");
  if (path == "/v1/policy") return json_response(200, policy_json(context));
  if (path == "/v1/denials") return denials_page(context, query);
  return front_page(context, request);
}

std::string InternalAnswers::ask(SandboxContext& context, const InternalRequest& request) {
  auto wish = parse_wish(request.body, context.names());
  if (!wish) return error(400, wish.error().message(), kHowToAsk);
  Target target = {.name = wish->host, .address = {}, .port = wish->port};
  if (auto address = parse_address(wish->host)) target = {.name = {}, .address = *address, .port = wish->port};
  if (context.decide(target).decision != Decision::Deny)
    return json_response(200, json_object({{"state", "allowed"}, {"next", "it is allowed already: connect to it"}}));
  if (!requests_.take())
    return error(429, "too many requests for access", "wait a minute; those that were made are kept");
  context.request_access(wish->host, wish->port, wish->reason);
  return json_response(
      202,
      json_object({{"state", "pending"},
                   {"host", wish->host},
                   {"port", wish->port},
                   {"next", "a person decides; if they approve, the next connection succeeds. Nothing is sent back"}}));
}

}  // namespace cove::net
