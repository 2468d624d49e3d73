#include "api/rest/response_json.h"

#include <concepts>

#include "base/encoding.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/order_fields.h"
#include "model/json.h"
#include "model/limit_fields.h"
#include "model/sandbox_fields.h"

namespace cove::api {
namespace {

using std::chrono::milliseconds;

Json enforced_json(const EnforcedLimits& limits) {
  Json json = Json::object();
  for (const auto& [name, limit] : limits)
    json[name] = json_object({{"value", limit.value}, {"enforced_by", limit.enforced_by}});
  return json;
}

}  // namespace

std::string dump(const Json& document) { return document.dump(); }

std::string dump_with(const Json& document, std::string_view name, std::string_view json) {
  std::string text = dump(document);
  text.pop_back();
  return concat(text, text.size() > 1 ? "," : "", "\"", name, "\":", json, "}");
}

Json time_json(int64_t milliseconds) { return milliseconds == 0 ? Json() : Json(format_time(milliseconds)); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string answer_name(const LimitField& field) {
  switch (field.kind) {
    case LimitKind::Bytes:
    case LimitKind::BytesPerSecond:
      return api_name(field) + "_bytes";
    case LimitKind::Duration:
      return api_name(field) + "_ms";
    case LimitKind::Number:
    case LimitKind::Count:
      break;
  }
  return api_name(field);
}

namespace {

template <typename T>
std::string answer_name(const Field& field) {
  return concat(field.name, std::same_as<T, milliseconds> ? "_ms" : "");
}

// --- a member of each type, as it is answered --------------------------------------------------------------------
Json answered(double value) { return value; }
Json answered(uint64_t value) { return value; }
Json answered(milliseconds value) { return value.count(); }
Json answered(Access access) { return access_name(access); }
Json answered(NetworkTier tier) { return tier_name(tier); }
Json answered(OnExpire action) { return on_expire_name(action); }
Json answered(engine::SessionScope scope) { return scope_name(scope); }
Json answered(engine::Mode mode) { return mode_name(mode); }

Json answered(const Environment& env) {
  Json json = Json::object();
  for (const auto& [name, value] : env) json[name] = value;
  return json;
}

Json answered(const Limits& limits) {
  Json json = Json::object();
  visit_limits(
      [&](const LimitField& field, const auto& limit) { json[api::answer_name(field)] = answered(limit.value); },
      limits);
  return json;
}

template <typename T>
  requires(std::constructible_from<Json, const T&> && !std::is_arithmetic_v<T> && !std::same_as<T, Environment>)
Json answered(const T& value) {
  return value;
}
Json answered(std::same_as<bool> auto value) { return value; }
Json answered(std::same_as<uint16_t> auto value) { return value; }

template <Listed T>
Json answered(const T& value);

template <Listed T>
Json answered(const std::optional<T>& value) {
  return value ? answered(*value) : Json();
}

template <typename T>
bool is_nothing(const T& value) {
  if constexpr (requires { value == T(); }) return value == T();
  return false;
}
bool is_nothing(const Workspace& workspace) { return workspace.access == Access::None; }

template <Listed T>
void answer_fields(Json& json, const T& value, unsigned way = kAnswer) {
  auto add = [&](const Field& field, const auto& member) {
    if constexpr (requires { answered(member); }) {
      if (!field.in(way) || (field.omitted && is_nothing(member))) return;
      json[answer_name<std::remove_cvref_t<decltype(member)>>(field)] =
          field.nullable && is_nothing(member) ? Json() : answered(member);
    }
  };
  FieldsOf<T>::visit(add, value);
}

template <Listed T>
Json answered(const T& value) {
  Json json = Json::object();
  answer_fields(json, value);
  return json;
}

}  // namespace

Json network_json(const NetworkPolicy& policy) { return answered(policy); }

Json sandbox_json(const engine::SandboxInfo& sandbox) {
  const SandboxSpec& spec = sandbox.spec;
  Json json = json_object({{"id", spec.id},
                           {"name", text_or_null(spec.name)},
                           {"project", sandbox.project},
                           {"state", engine::state_name(sandbox.state)},
                           {"reason", sandbox.reason}});
  answer_fields(json, spec);
  json.update(json_object(
      {{"enforced", enforced_json(sandbox.enforced)},
       {"warnings", sandbox.warnings},
       {"lifecycle", answered(sandbox.lifecycle)},
       {"created_at", time_json(sandbox.created_ms)},
       {"started_at", time_json(sandbox.started_ms)},
       {"expires_at", time_json(sandbox.expires_ms)},
       {"last_used_at", time_json(sandbox.last_used_ms != 0 ? sandbox.last_used_ms : sandbox.created_ms)}}));
  return json;
}

Json session_json(const engine::SessionInfo& session) {
  const engine::SessionOrder& order = session.order;
  const bool active = session.state == engine::SessionState::Active;
  const bool ends = active && order.idle.count() > 0;
  Json json = json_object({{"id", session.id}, {"project", session.project}});
  answer_fields(json, order);
  json.update(json_object({{"state", active ? "active" : "ended"},
                           {"reason", session.reason},
                           {"sandbox_id", text_or_null(session.sandbox_id)}}));
  answer_fields(json, order.sandbox, kSession);
  if (order.sandbox.image.empty()) json["image"] = SandboxSpec().image;
  json.update(
      json_object({{"lifecycle", json_object({{"idle_ms", order.idle.count() == 0 ? Json() : answered(order.idle)}})},
                   {"created_at", time_json(session.created_ms)},
                   {"last_used_at", time_json(session.last_used_ms)},
                   {"expires_at", time_json(ends ? session.last_used_ms + order.idle.count() : 0)},
                   {"ended_at", time_json(session.ended_ms)}}));
  return json;
}

Json stats_json(const Stats& stats, const Limits& limits, int64_t now_ms) {
  return {{"time", time_json(now_ms)},
          {"cpu_user_ms", stats.total.cpu_user_ms},
          {"cpu_system_ms", stats.total.cpu_system_ms},
          {"memory_bytes", stats.memory_bytes},
          {"memory_peak_bytes", stats.total.memory_peak_bytes},
          {"processes", stats.processes},
          {"processes_peak", stats.total.processes_peak},
          {"disk_bytes", stats.layer_bytes},
          {"disk_limit_bytes", limits.disk.value},
          {"memory_limit_bytes", limits.memory.value},
          {"cpus", limits.cpus.value},
          {"io_read_bytes", stats.total.io_read_bytes},
          {"io_write_bytes", stats.total.io_write_bytes}};
}

std::string result_json(const ExecResult& result) { return to_json(result, JsonLayout::Line); }

std::string exec_json(const engine::ExecInfo& exec) {
  Json document = json_object({{"id", exec.id},
                               {"sandbox_id", exec.sandbox_id},
                               {"state", exec.state == engine::ExecState::Running ? "running" : "ended"}});
  answer_fields(document, exec.order);
  answer_fields(document, exec.order.spec);
  document.update(json_object({{"started_at", time_json(exec.started_ms)},
                               {"ended_at", time_json(exec.ended_ms)},
                               {"next_seq", exec.next_seq}}));
  return dump_with(document, "result", exec.result ? result_json(*exec.result) : "null");
}

Json event_json(const EventRecord& event) {
  Json data = Json::parse(event.data).value_or(Json());
  return {{"seq", event.seq},
          {"time", time_json(event.time_ms)},
          {"kind", event.kind},
          {"project", event.project},
          {"sandbox_id", text_or_null(event.sandbox_id)},
          {"exec_id", text_or_null(event.exec_id)},
          {"actor", event.actor},
          {"data", data.is_object() ? std::move(data) : Json::object()}};
}

Json key_json(const KeyRecord& key) {
  return {{"id", key.id},
          {"name", key.name},
          {"project", key.project},
          {"scopes", split(key.scopes, ',')},
          {"created_at", time_json(key.created_ms)},
          {"expires_at", time_json(key.expires_ms)}};
}

Json secret_json(const SecretInfo& secret) {
  const bool brokered = secret.use == SecretUse::Brokered;
  const bool usual = secret.places == usual_secret_places();
  return {{"name", secret.name},
          {"project", secret.project},
          {"agent", secret.agent.empty() ? Json() : Json(secret.agent)},
          {"use", secret_use_name(secret.use)},
          {"hosts", secret.hosts},
          {"header", brokered && !usual && !secret.places.empty() ? Json(secret.places.front()) : Json()},
          {"created_at", time_json(secret.created_ms)},
          {"updated_at", time_json(secret.updated_ms)}};
}

void add_data(Json& document, const std::string& data) {
  if (is_utf8(data))
    document["text"] = data;
  else
    document["base64"] = to_base64(data);
}

const char* stream_name(engine::Stream stream) { return stream == engine::Stream::Err ? "stderr" : "stdout"; }

std::string page_json(const std::vector<std::string>& items, const std::string& next) {
  return concat("{\"items\":[", join(items, ","), "],\"next\":", dump(text_or_null(next)), "}");
}

}  // namespace cove::api
